"""The worker: carries out one job inside the environment under test and writes its evidence.

Usage: `python -I BUNDLE.zip JOB.json EVIDENCE.json`. The worker ends as soon as its standard input does, so that none
outlives the process that started it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import platform
import queue
import resource
import sys
import threading
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .checkpoint import Belonging, Folder
from .data import batches_digest
from .errors import StackproofError, UnsupportedError
from .installed import installed_versions
from .mixed import PRECISIONS
from .noise import Noise
from .npz import pack
from .program import load, tensors_digest
from .reading import spec_from_dict
from .session import Options
from .training import make_feed, time_steps, train
from .workload_lines import CommandError
from .workload_process import kill_all
from .workload_runs import CommandRunner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from .checkpoint import Checkpoint
    from .program import Program
    from .session import Session
    from .spec import Spec
    from .training import Feed, Trajectory

SCHEMA_VERSION = 1
TARGETS = ("torch", "tensorflow", "jax")


def main(arguments: list[str]) -> int:
    """Carry out a job.

    Args:
        arguments: Path of the job and path for the evidence.

    Returns:
        0, or 1 where the job failed; the evidence then says why.
    """
    job_path, evidence_path = (Path(argument) for argument in arguments)
    commands, protocol = _listen(), _take_stdout()
    job = json.loads(job_path.read_text(encoding="utf-8"))
    evidence: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "target": job["target"], "error": None}
    runner: Runner | CommandRunner | None = None
    try:
        runner = _runner(job, evidence)
        runner.run_all()
    except Exception as error:  # noqa: BLE001 - whatever went wrong is evidence
        if not isinstance(error, CommandError):
            traceback.print_exc()
        evidence["error"] = _error(error)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    evidence["peak_memory_bytes"] = max(own, evidence.get("peak_memory_bytes", 0))
    _write(evidence_path, json.dumps(evidence, allow_nan=False).encode())
    if runner is None or evidence["error"]:
        return 1
    if job["serve"]:
        runner.serve(commands, protocol)
    return 0


def _runner(job: dict[str, Any], evidence: dict[str, Any]) -> Runner | CommandRunner:
    """Return what carries out a job: the runs of a program, or those of a command of the spec's own."""
    return CommandRunner(job, evidence) if "workload" in job["spec"] else Runner(job, evidence)


class Runner:
    """Carries out the runs of one job, and fills in their evidence."""

    def __init__(self, job: dict[str, Any], evidence: dict[str, Any]) -> None:
        self._job, self._evidence = job, evidence
        self._spec: Spec = spec_from_dict(job["spec"])
        self._program: Program = load(Path(job["program"]).read_bytes())
        self._feed: Feed = make_feed(self._spec, self._program.inputs)
        self._open: tuple[Any, Session] | None = None
        self._target = self._prepare(job["target"])

    def _prepare(self, target: str) -> Any:
        start = time.perf_counter()
        module = _import_target(target)
        module.prepare(self._job["threads"], self._job["device"])
        self._evidence.update(
            python=platform.python_version(),
            versions=installed_versions(),
            platform=asdict(module.describe()),
            threads=self._job["threads"],
            program_digest=self._program.digest,
            data_digest=batches_digest(self._feed.batches),
            seconds={"import": time.perf_counter() - start},
            runs=[],
        )
        return module

    def run_all(self) -> None:
        """Make each run of the job and record it."""
        for run in self._job["runs"]:
            folder = self._checkpoints(run)
            found = None if folder is None else folder.found(resume=self._job.get("resume", False))
            start = time.perf_counter()
            session = self._session(run, found)
            opening = time.perf_counter() - start
            made = self._record(run, session, train(session, self._feed, folder, found), opening)
            self._evidence["runs"].append(made if folder is None else {**made, "resumed_from": found and found.step})

    def _checkpoints(self, run: dict[str, Any]) -> Folder | None:
        """Return where a run's checkpoints are kept: each run of a job has a folder of its own."""
        asked = self._job.get("checkpoint")
        if asked is None:
            return None
        noise = json.dumps(run["noise"], sort_keys=True)
        kind = f"{run['name']} in {run['precision']} with noise {noise}"
        belonging = Belonging(self._spec.digest, self._program.digest, kind)
        return Folder(Path(asked["folder"]) / run["name"], asked["every"], belonging, self._job["target"])

    def serve(self, commands: queue.Queue[str], protocol: TextIO) -> None:
        """Time steps of the last run's session on command, until told to quit."""
        _say(protocol, {"event": "ready"})
        run = self._job["runs"][-1]
        while True:
            command = json.loads(commands.get())
            if command["do"] == "quit":
                return
            wall, processor = time_steps(self._session(run), self._feed, command["count"])
            answer = {"event": "steps", "count": command["count"], "seconds": wall, "cpu_seconds": processor}
            _say(protocol, answer)

    def _session(self, run: dict[str, Any], found: Checkpoint | None = None) -> Session:
        """Return a session at its initial parameters, compiled anew only where precision or execution differ.

        A run that goes on keeps to the execution that it began in: the bits of another might be others.
        """
        noise = Noise(**run["noise"]) if run["noise"] else None
        execution = run.get("execution", "compiled")
        if execution == "auto" and found is not None and found.target == self._job["target"]:
            execution = found.execution
        precision = run["precision"]
        # Noise as large as narrow products round needs the program that has them.
        mixing = self._spec.train.precision if noise is not None and noise.narrow else precision
        dtype, narrow = "float32" if precision in PRECISIONS else precision, PRECISIONS.get(mixing, "")
        options = Options(dtype, run["compile"], noise, execution, narrow=narrow)
        key = (dtype, narrow, run["compile"], execution, noise is None)
        if self._open is not None and self._open[0] == key:
            self._open[1].reset(noise)
            return self._open[1]
        self._open = None
        session: Session = self._target.open_session(self._program, self._spec, options)
        self._open = (key, session)
        return session

    def _record(self, run: dict[str, Any], session: Session, made: Trajectory, opening: float) -> dict[str, Any]:
        path = Path(self._job["tensors"]) / f"{run['name']}.npz"
        _write(path, pack(made.parameters))
        more = {
            "state": session.state() if self._program.state else {},
            "averages": session.averages() if self._spec.train.ema else {},
        }
        files = {kind: path.with_suffix(f".{kind}.npz") for kind, tensors in more.items() if tensors}
        for kind, file in files.items():
            _write(file, pack(more[kind]))
        return {
            **run,
            "mode": session.mode,
            "why": session.why,
            "execution": session.execution,
            "trials": dict(session.trials),
            "losses": made.losses,
            "grad_norms": made.grad_norms,
            "parameters_digest": made.digest,
            "parameters_file": path.name,
            **{f"{kind}_file": file.name for kind, file in files.items()},
            **({"averages_digest": tensors_digest(more["averages"])} if more["averages"] else {}),
            "seconds": {"first_step": made.first_step and made.first_step + opening, "rest": made.rest},
        }


def _import_target(target: str) -> Any:
    """Import a target, and with it its framework.

    Raises:
        UnsupportedError: The environment does not have the framework.
    """
    try:
        return importlib.import_module(f".on_{target}.session", __package__)
    except ModuleNotFoundError as error:
        if error.name != target:
            raise
        raise UnsupportedError(
            f"the environment {sys.prefix} does not have {target}: install it there, or choose another backend or venv"
        ) from error


def _error(error: Exception) -> dict[str, Any]:
    code = error.exit_code if isinstance(error, StackproofError) else 1
    return {"kind": type(error).__name__, "message": str(error), "exit_code": code}


def _write(path: Path, content: bytes) -> None:
    """Put a whole file in place at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    partial.replace(path)


def _say(protocol: TextIO, message: dict[str, Any]) -> None:
    protocol.write(json.dumps(message) + "\n")
    protocol.flush()


def _take_stdout() -> TextIO:
    """Keep standard output for the protocol and send whatever a framework prints to standard error."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(kept, "w", encoding="utf-8")


def _listen() -> queue.Queue[str]:
    """Read commands in the background, and end the process when standard input ends."""
    commands: queue.Queue[str] = queue.Queue()

    def read() -> None:
        with contextlib.suppress(ValueError, OSError):
            for line in _lines():
                commands.put(line)
        kill_all()
        os._exit(3)

    threading.Thread(target=read, daemon=True, name="commands").start()
    return commands


def _lines() -> Iterator[str]:
    with os.fdopen(os.dup(0), "r", encoding="utf-8") as source:
        yield from source


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

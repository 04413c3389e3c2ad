"""The worker: carries out one job inside the environment under test and writes its evidence.

Usage: `python -I BUNDLE.zip JOB.json EVIDENCE.json`. The worker ends as soon as its standard input does, so that none
outlives the process that started it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
import json
import os
import platform
import queue
import re
import resource
import sys
import threading
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .data import batches_digest
from .errors import StackproofError, UnsupportedError
from .noise import Noise
from .program import load
from .reading import spec_from_dict
from .session import Options
from .training import make_feed, time_steps, train

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TextIO

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
    runner = None
    try:
        runner = Runner(job, evidence)
        runner.run_all()
    except Exception as error:  # noqa: BLE001 - whatever went wrong is evidence
        traceback.print_exc()
        evidence["error"] = _error(error)
    evidence["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    _write(evidence_path, json.dumps(evidence, allow_nan=False).encode())
    if runner is None or evidence["error"]:
        return 1
    if job["serve"]:
        runner.serve(commands, protocol)
    return 0


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
            versions=_versions(),
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
            session = self._session(run)
            self._evidence["runs"].append(self._record(run, session, train(session, self._feed)))

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

    def _session(self, run: dict[str, Any]) -> Session:
        """Return a session at its initial parameters, compiled anew only where precision or execution differ."""
        noise = Noise(**run["noise"]) if run["noise"] else None
        execution = run.get("execution", "compiled")
        key = (run["precision"], run["compile"], execution, noise is None)
        if self._open is not None and self._open[0] == key:
            self._open[1].reset(noise)
            return self._open[1]
        self._open = None
        session: Session = self._target.open_session(
            self._program, self._spec, Options(run["precision"], run["compile"], noise, execution)
        )
        self._open = (key, session)
        return session

    def _record(self, run: dict[str, Any], session: Session, made: Trajectory) -> dict[str, Any]:
        path = Path(self._job["tensors"]) / f"{run['name']}.npz"
        _write(path, _packed(made.parameters))
        state = session.state() if self._program.state else {}
        if state:
            _write(path.with_suffix(".state.npz"), _packed(state))
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
            **({"state_file": path.with_suffix(".state.npz").name} if state else {}),
            "seconds": {"first_step": made.first_step, "rest": made.rest},
        }


def _packed(tensors: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    arrays: dict[str, Any] = dict(tensors)
    np.savez(buffer, **arrays)
    return buffer.getvalue()


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


def _versions() -> dict[str, str]:
    """Return the version of every installed distribution by normalised name."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), distribution.version)
    return dict(sorted(found.items()))


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
        os._exit(3)

    threading.Thread(target=read, daemon=True, name="commands").start()
    return commands


def _lines() -> Iterator[str]:
    with os.fdopen(os.dup(0), "r", encoding="utf-8") as source:
        yield from source


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

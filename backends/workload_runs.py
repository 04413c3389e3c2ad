"""What a worker does where a spec has a command of its own: each run is the command, in a fresh copy of its files."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import resource
import shutil
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .installed import installed_versions
from .processor import processor_name
from .reading import spec_from_dict
from .workload import Order, run_command
from .workload_lines import CommandError

if TYPE_CHECKING:
    import queue
    from collections.abc import Iterator
    from typing import TextIO

    from .spec import Spec
    from .spec_workload import Workload
    from .workload import Ran

MODE = "command"
_NOT_PROMISED = "a command of the spec's own; whether it repeats its bits is seen by running it again"
_LEAST_SECONDS = 1e-6
# What a driver of GPUs puts there: NVIDIA's, AMD's, and Windows' under WSL.
_GPU_NODES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")


class CommandRunner:
    """Carries out the runs of a job whose spec has a command, and fills in their evidence.

    Args:
        job: The job; its `program` is a zip of the command's files.
        evidence: What is filled in.
    """

    def __init__(self, job: dict[str, Any], evidence: dict[str, Any]) -> None:
        self._job, self._evidence = job, evidence
        self._spec: Spec = spec_from_dict(job["spec"])
        self._files = Path(job["program"]).read_bytes()
        self._evidence.update(
            python=platform.python_version(),
            versions=installed_versions(),
            platform=_platform(job["device"]),
            threads=job["threads"],
            program_digest=hashlib.sha256(self._files).hexdigest(),
            data_digest="",
            seconds={"import": 0.0},
            runs=[],
        )

    def run_all(self) -> None:
        """Make each run of the job and record it."""
        for run in self._job["runs"]:
            self._evidence["runs"].append(self._record(run, self._run(self._spec.train.steps)))
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        self._evidence["peak_memory_bytes"] = children

    def serve(self, commands: queue.Queue[str], protocol: TextIO) -> None:
        """Time steps on command, until told to quit: each time a new run of one step more, whose first is left out."""
        _say(protocol, {"event": "ready"})
        while True:
            asked = json.loads(commands.get())
            if asked["do"] == "quit":
                return
            before = _processor_seconds()
            seconds = max(self._run(asked["count"] + 1).rest, _LEAST_SECONDS)
            taken = _processor_seconds() - before
            _say(protocol, {"event": "steps", "count": asked["count"], "seconds": seconds, "cpu_seconds": taken})

    def _run(self, steps: int) -> Ran:
        with self._folder() as folder:
            order = Order(
                command=self._workload.command,
                folder=folder,
                steps=steps,
                seconds=self._workload.seconds,
                silence=self._workload.silence,
                variables=self._variables(steps),
            )
            try:
                return run_command(order)
            except CommandError as error:
                # The worker's standard error is the log that a reader of the report is shown the decisive lines of.
                os.write(2, error.log.encode("utf-8", "replace"))
                raise

    @property
    def _workload(self) -> Workload:
        if self._spec.workload is None:
            raise CommandError(f"the spec {self._spec.name} has no command")
        return self._spec.workload

    @contextlib.contextmanager
    def _folder(self) -> Iterator[Path]:
        """Give a folder with a fresh copy of the command's files, for as long as it is needed."""
        folder = Path(self._job["tensors"]).absolute() / "command"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            unpack(self._files, folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _variables(self, steps: int) -> dict[str, str]:
        """Return the environment of the command: the cell's own, its programs first, and what the command is told."""
        places = [str(Path(sys.executable).parent), *filter(None, [os.environ.get("PATH")])]
        return {
            **os.environ,
            "PATH": os.pathsep.join(places),
            "PYTHONNOUSERSITE": "1",
            "STACKPROOF_STEPS": str(steps),
            "STACKPROOF_SEED": str(self._spec.train.seed),
            "STACKPROOF_SPEC_FOLDER": self._job["folder"],
        }

    def _record(self, run: dict[str, Any], ran: Ran) -> dict[str, Any]:
        path = Path(self._job["tensors"]) / f"{run['name']}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_no_tensors())
        return {
            **run,
            "mode": MODE,
            "why": "",
            "execution": MODE,
            "losses": [step.loss for step in ran.steps],
            "grad_norms": [step.grad_norm for step in ran.steps] if "grad_norm" in ran.optional else [],
            "parameters_digest": ran.digest,
            "parameters_file": path.name,
            "seconds": {"first_step": ran.first, "rest": ran.rest},
            "samples": ran.samples,
        }


def unpack(files: bytes, folder: Path) -> None:
    """Put the files of a zip into a folder, those that could be run as files that can be.

    Args:
        files: A zip; `zipfile` keeps its entries inside the folder.
        folder: Where to.
    """
    with zipfile.ZipFile(io.BytesIO(files)) as archive:
        for entry in archive.infolist():
            made = Path(archive.extract(entry, folder))
            made.chmod(0o755 if (entry.external_attr >> 16) & 0o100 else 0o644)


def _no_tensors() -> bytes:
    """Return a file of arrays without any: final parameters stay with the command."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w"):
        pass
    return buffer.getvalue()


def _platform(device: str) -> dict[str, Any]:
    no_gpu = device == "cpu" or not any(Path(node).exists() for node in _GPU_NODES)
    return {
        "device": "cpu" if no_gpu else "not stated",
        "device_name": processor_name(),
        "deterministic": False,
        "deterministic_why": _NOT_PROMISED,
        "modules": {},
    }


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _say(protocol: TextIO, message: dict[str, Any]) -> None:
    protocol.write(json.dumps(message) + "\n")
    protocol.flush()

"""A worker in a container: the same work as in a venv, with no network, a read-only root and limits."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..containers.diagnose import disk_error
from ..containers.engine.container import Container, ContainerRequest, Limits
from .inside import BUNDLE, EVIDENCE, FOLDER, JOB, OUT, PROGRAM, TENSORS
from .outcome import Ending, judge_ending
from .surroundings import surroundings
from .watch import DUMP_TIME, TICK

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from ..containers.engine.container import Exit
    from ..containers.image import Image
    from .outcome import Cut, Outcome
    from .watch import Request

_LOOK: Final = 0.25  # seconds between questions to the engine: each costs processor time that a measurement would miss
_OUTPUT_TIME: Final = 2.0
_SIGNALLED: Final = 128
_SIGNALS: Final = 64


class Contained:
    """One running worker in a container.

    Args:
        request: What to run.
        image: In which image.
        cancel: Ends it when set.
        serve: Whether its standard output is read, or goes to its log.

    Raises:
        OutsideError: The engine failed, or the disk refuses the run's folder.
    """

    def __init__(self, request: Request, image: Image, cancel: threading.Event | None, *, serve: bool) -> None:
        self._request, self._cancel = request, cancel
        self._looked = 0.0
        try:
            request.folder.mkdir(parents=True, exist_ok=True)
            request.evidence.unlink(missing_ok=True)
        except OSError as error:
            raise disk_error("starting a worker", error) from error
        self._container = Container(image.engine, _container(request, image), keep_output=serve)
        self._start = time.monotonic()
        try:
            self._container.start()
        except BaseException:
            self._container.remove()
            raise

    def look(self, deadline: float) -> Cut | None:
        """Look once; see `Watch.look`."""
        if self._cancel is not None and self._cancel.is_set():
            return "cancel"
        now = time.monotonic()
        if now > deadline:
            return "time"
        if now - self._looked < _LOOK:
            return None
        self._looked = now
        return "" if self._container.ended() is not None else None

    def finish(self, cut: Cut, limit: float = 0.0) -> Outcome:
        """End the container and remove it, and say how it went; see `Watch.finish`."""
        seconds = time.monotonic() - self._start
        try:
            if cut == "time":
                self._dump()
            ended = self._container.ended()
            if ended is None:
                self._container.kill()
                ended = self._container.ended()
            self._await_output()
            self._keep_log()
            if not cut:
                self.bring()
        finally:
            self._container.remove()
        ending = _ending(cut, ended, seconds, limit, self._request.memory_limit)
        return judge_ending(ending, self._request.log, self._request.evidence)

    def write(self, data: bytes) -> None:
        """Write to its standard input; that it is gone is noticed when it is looked at."""
        self._container.write(data)

    def read(self, seconds: float) -> bytes:
        """Return what it wrote to its standard output, waiting so long at most; empty where it wrote nothing."""
        chunk = self._container.read(seconds)
        if chunk == b"":
            time.sleep(seconds)
        return chunk or b""

    def bring(self) -> None:
        """Copy its evidence out of the container to where the request says; what it did not write is not there."""
        request = self._request
        try:
            with tempfile.TemporaryDirectory(dir=request.folder, prefix="out-") as made:
                self._container.fetch(str(OUT), Path(made) / OUT.name)
                _move(Path(made) / OUT.name, request.evidence)
        except OSError as error:
            raise disk_error("taking a worker's evidence out of its container", error) from error

    def _dump(self) -> None:
        """Let `faulthandler` write into the log where the worker hangs."""
        self._container.kill("ABRT")
        deadline = time.monotonic() + DUMP_TIME
        while self._container.ended() is None and time.monotonic() < deadline:
            time.sleep(TICK)

    def _await_output(self) -> None:
        """Wait for the last of its output, which may come after the engine says that it has ended."""
        deadline = time.monotonic() + _OUTPUT_TIME
        while self._container.read(TICK) != b"" and time.monotonic() < deadline:
            pass

    def _keep_log(self) -> None:
        try:
            self._request.log.write_bytes(self._container.log())
        except OSError as error:
            raise disk_error("keeping a worker's log", error) from error


def _container(request: Request, image: Image) -> ContainerRequest:
    files: dict[str, Path | bytes] = {str(BUNDLE): request.bundle, str(JOB): request.job}
    files[str(OUT / "begun")] = b""  # the folder is there, whether the worker writes to it or not
    if request.program is not None:
        files[str(PROGRAM)] = request.program
    return ContainerRequest(
        image=image.id,
        command=(str(request.python), "-I", "-u", "-X", "faulthandler", str(BUNDLE), str(JOB), str(EVIDENCE)),
        files=files,
        variables=_variables(request),
        limits=Limits(memory_bytes=request.memory_limit, cpus=float(len(os.sched_getaffinity(0)))),
        gpus=request.device != "cpu" and image.gpus,
        stdin=True,
    )


def _variables(request: Request) -> Mapping[str, str]:
    """Return what is put over the image's own variables: none of this machine's reach the container."""
    made = surroundings({}, Path(FOLDER), request.device, request.threads)
    return {**made, "HOME": str(FOLDER), "TMPDIR": "/tmp"}  # noqa: S108 - the container's own, in memory


def _ending(cut: Cut, ended: Exit | None, seconds: float, limit: float, memory_limit: int) -> Ending:
    """Return what is known of a container's end; one that outgrew its memory limit was killed by the kernel."""
    status = _status(ended.code) if ended else None
    killed = bool(ended and ended.out_of_memory and ended.code)
    if killed and memory_limit and not cut:
        return Ending("memory", status, seconds, memory_limit, float(memory_limit), killed)
    return Ending(cut, status, seconds, 0, limit, killed)


def _status(code: int) -> int:
    """Return an exit code as `Popen.returncode` has it: the engine reports signals as shells do."""
    return _SIGNALLED - code if _SIGNALLED < code <= _SIGNALLED + _SIGNALS else code


def _move(made: Path, evidence: Path) -> None:
    tensors = evidence.with_suffix("")
    shutil.rmtree(tensors, ignore_errors=True)
    if (made / TENSORS.name).is_dir():
        (made / TENSORS.name).rename(tensors)
    if (made / EVIDENCE.name).is_file():
        (made / EVIDENCE.name).rename(evidence)

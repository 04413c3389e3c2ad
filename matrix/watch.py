"""A worker's process, watched: its time, its memory, its end, and the end of all that it started."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from ..containers import process
from ..containers.diagnose import disk_error
from .outcome import Ending, judge_ending
from .plain_path import plain_path
from .surroundings import make_folders, surroundings

if TYPE_CHECKING:
    import threading

    from ..containers.image import Image
    from .outcome import Cut, Outcome

TICK: Final = 0.05  # seconds between looks
_LOOK_ALL: Final = 1.0  # seconds between looks for new children: these read all of /proc
DUMP_TIME: Final = 0.5  # seconds that a hanging worker gets to write where it hangs
_CHUNK: Final = 65536


@dataclass(frozen=True)
class Request:
    """A worker to run.

    Attributes:
        python: The environment's interpreter; of an image, its path in there.
        bundle: The worker's zip.
        job: The job file.
        evidence: Where the worker's evidence goes; its tensors go to the folder of that name without suffix.
        folder: The run's own folder: its log (`worker.log`), temporary files and compiler caches.
        device: `auto`, `cpu` or `cuda`.
        threads: CPU threads.
        time_limit: Seconds that it may take.
        memory_limit: Bytes that it and its children may hold in memory together; 0 for no limit.
        image: The image to run it in; None for a venv on this machine.
        program: The program's file, which is copied into a container beside the job.
    """

    python: Path
    bundle: Path
    job: Path
    evidence: Path
    folder: Path
    device: str = "auto"
    threads: int = 1
    time_limit: float = 600.0
    memory_limit: int = 0
    image: Image | None = None
    program: Path | None = None

    @property
    def log(self) -> Path:
        """Return where the worker's output goes."""
        return self.folder / "worker.log"


class Watch:
    """One running worker.

    Args:
        request: What to run.
        cancel: Ends it when set.
        stdout: Where its standard output goes: a pipe, or its log where None.

    Raises:
        OSError: The interpreter cannot be started.
        OutsideError: The disk refuses the run's folder.
    """

    def __init__(self, request: Request, cancel: threading.Event | None, stdout: int | None = None) -> None:
        self._request, self._cancel = request, cancel
        self._mark = process.new_mark()
        self._kernel_kills = _kernel_kills()
        self._peak, self._looked, self._family = 0, 0.0, ()  # type: tuple[int, float, tuple[int, ...]]
        with ExitStack() as stack, _open_log(request) as log:
            self._start = time.monotonic()
            self.child = _spawn(_plainly(request, stack), log, self._mark, stdout)
            self._links = stack.pop_all()
        # A core file of a framework is gigabytes that nobody asked for.
        resource.prlimit(self.child.pid, resource.RLIMIT_CORE, (0, 0))

    def look(self, deadline: float) -> Cut | None:
        """Look once: None while it runs within its limits, else why it ended or must end (empty: by itself).

        Args:
            deadline: When its time is up, on the clock of `time.monotonic`.
        """
        if process.has_exited(self.child):
            return ""
        self._measure()
        if self._cancel is not None and self._cancel.is_set():
            return "cancel"
        if self._request.memory_limit and self._peak > self._request.memory_limit:
            return "memory"
        return "time" if time.monotonic() > deadline else None

    def finish(self, cut: Cut, limit: float = 0.0) -> Outcome:
        """End whatever is left of the worker, and say how it went.

        Args:
            cut: What `look` said.
            limit: The limit of seconds that it broke, where `cut` is `time`.
        """
        if cut == "time":
            self._dump()
        seconds = time.monotonic() - self._start
        process.end(self.child, self._mark)
        self._links.close()
        for pipe in (self.child.stdin, self.child.stdout):
            _close(pipe)
        broken = float(self._request.memory_limit) if cut == "memory" else limit
        killed = _kernel_kills() > self._kernel_kills
        ending = Ending(cut, self.child.returncode, seconds, self._peak, broken, killed)
        return judge_ending(ending, self._request.log, self._request.evidence)

    def write(self, data: bytes) -> None:
        """Write to its standard input; that it is gone is noticed when it is looked at."""
        pipe = self.child.stdin
        if pipe is not None:
            try:
                pipe.write(data)
                pipe.flush()
            except BrokenPipeError:
                return

    def read(self, seconds: float) -> bytes:
        """Return what it wrote to its standard output, waiting so long at most; empty where it wrote nothing."""
        pipe = self.child.stdout
        if pipe is None or not select.select([pipe], [], [], seconds)[0]:
            return b""
        if chunk := os.read(pipe.fileno(), _CHUNK):
            return chunk
        time.sleep(seconds)
        return b""

    def bring(self) -> None:
        """See that its evidence lies where the request says: it does, once it is written."""

    def _measure(self) -> None:
        now = time.monotonic()
        if now - self._looked > _LOOK_ALL:
            # A command of a spec's own leads a session of its own.
            family = {*process.members(self.child.pid), *process.marked(self._mark)}
            self._family, self._looked = tuple(family), now
        together = process.resident_bytes({self.child.pid, *self._family})
        self._peak = max(self._peak, together, process.peak_bytes(self.child.pid))

    def _dump(self) -> None:
        """Let `faulthandler` write into the log where the worker hangs."""
        os.kill(self.child.pid, signal.SIGABRT)
        deadline = time.monotonic() + DUMP_TIME
        while not process.has_exited(self.child) and time.monotonic() < deadline:
            time.sleep(TICK)


def _open_log(request: Request) -> IO[bytes]:
    try:
        make_folders(request.folder)
        request.evidence.unlink(missing_ok=True)
        return request.log.open("wb")
    except OSError as error:
        raise disk_error("starting a worker", error) from error


def _plainly(request: Request, links: ExitStack) -> Request:
    """Return a request with paths that every compiler takes; links that they need are removed with the stack."""
    folder = links.enter_context(plain_path(request.folder.absolute()))
    python = request.python.absolute()
    venv = links.enter_context(plain_path(python.parent.parent))
    return replace(request, folder=folder, python=venv / python.parent.name / python.name)


def _spawn(request: Request, log: IO[bytes], mark: str, stdout: int | None) -> subprocess.Popen[bytes]:
    variables = surroundings(os.environ, request.folder, request.device, request.threads)
    files = [str(path.absolute()) for path in (request.bundle, request.job, request.evidence)]
    return subprocess.Popen(
        [str(request.python), "-I", "-u", "-X", "faulthandler", *files],
        stdin=subprocess.PIPE,
        stdout=log if stdout is None else stdout,
        stderr=log,
        cwd=request.folder,
        env={**variables, process.MARK: mark},
        start_new_session=True,
    )


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        try:
            pipe.close()
        except BrokenPipeError:
            return


def _kernel_kills() -> int:
    """Return how many processes the kernel's out-of-memory killer has ended since boot; 0 where it does not say."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)

"""A container that runs one program: without network, privileges and a writable root, within limits, and then gone."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from ...compat.errors import OutsideError, StoppedError
from . import sdk
from .archives import read_archive, take_out
from .attachment import Attachment
from .faults import garbled, telling
from .isolation import WORK, describe_container, inner_path, require_sound
from .leftovers import labels
from .volume import fill_volume, make_volume, remove_volume

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from .connect import Engine

_TICK: Final = 0.05
_MOST_OUTPUT: Final = 64 * 1024 * 1024
_PIECE: Final = 1024 * 1024
_KILLED: Final = 137
# Engines whose program for process 1 is not installed say so only when they make or start a container.
_NO_INIT: Final = ("docker-init", "catatonit", "container-init", "init binary")


@dataclass(frozen=True)
class Limits:
    """What a container may use.

    Attributes:
        memory_bytes: Memory, without swap; 0 for no limit.
        cpus: Processors, in fractions; 0 for no limit.
        pids: Processes and threads.
    """

    memory_bytes: int = 0
    cpus: float = 0
    pids: int = 4096


@dataclass(frozen=True)
class ContainerRequest:
    """What to run.

    Attributes:
        image: Name or id of an image that the engine has.
        command: Program and arguments; the image's own entry point is left out.
        files: Absolute path below /job -> a file on this machine, or the content itself. They belong to the user.
        variables: Environment variables on top of the image's.
        user: Name or number, with `:group` or not; the image's own if empty.
        capabilities: Capabilities that it keeps, such as `DAC_READ_SEARCH`; all others are dropped.
        limits: What it may use.
        gpus: Whether it gets the GPUs of the engine's machine.
        stdin: Whether its standard input is written to. At the end of this process, however it ends, it sees the end
            of file there.
        workdir: Its working directory.
    """

    image: str
    command: tuple[str, ...]
    files: Mapping[str, Path | bytes] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    capabilities: tuple[str, ...] = ()
    limits: Limits = Limits()
    gpus: bool = False
    stdin: bool = False
    workdir: str = WORK


@dataclass(frozen=True)
class Exit:
    """How a container ended.

    Attributes:
        code: Exit status; 128 and the signal's number where it was killed.
        out_of_memory: Whether the memory limit was hit.
        error: What the engine says went wrong; empty for nothing.
    """

    code: int
    out_of_memory: bool
    error: str


@dataclass(frozen=True)
class Finished:
    """What `run_container` returns.

    Attributes:
        code: Exit status.
        stdout: Standard output; its first 64 MiB.
        stderr: Standard error; its last MiB.
        out_of_memory: Whether the memory limit was hit.
        timed_out: Whether the time limit was.
    """

    code: int
    stdout: bytes
    stderr: bytes
    out_of_memory: bool
    timed_out: bool


class Container:
    """One container; leaving its `with` block removes it and its folder.

    Args:
        engine: Where it runs.
        request: What runs.
        keep_output: Whether standard output is kept for `read`; as `request.stdin` if not given.

    Raises:
        InputError: The request is not sound.
    """

    def __init__(self, engine: Engine, request: ContainerRequest, *, keep_output: bool | None = None) -> None:
        require_sound(request)
        self._engine, self._request = engine, request
        self._keep = request.stdin if keep_output is None else keep_output
        self._id = self._volume = ""
        self._attachment: Attachment | None = None
        self._exit: Exit | None = None
        self._killed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OutsideError):  # it must not hide how the block ended; what is left is found later
            self.remove()

    def start(self) -> None:
        """Make and start it.

        Raises:
            OutsideError: The engine refused, or ended.
        """
        marks = labels()
        self._volume = make_volume(self._engine, marks)
        user = self._request.user or self._own_user()
        fill_volume(self._engine, self._request, self._volume, user)
        described = describe_container(self._engine, self._request, self._volume, marks)
        try:
            self._start(described)
        except OutsideError as error:
            if not any(words in str(error) for words in _NO_INIT):
                raise
            self._remove_container()
            described["HostConfig"]["Init"] = False
            self._start(described)

    def write(self, data: bytes) -> None:
        """Write to its standard input; into nothing where it has ended."""
        if self._attachment:
            self._attachment.write(data)

    def close_stdin(self) -> None:
        """End its standard input."""
        if self._attachment:
            self._attachment.close_stdin()

    def read(self, timeout: float) -> bytes | None:
        """Return what came on standard output: None for nothing within so many seconds, empty for its end."""
        return self._attachment.read(timeout) if self._attachment else b""

    def log(self) -> bytes:
        """Return the last MiB of standard error, and of standard output where it is not kept for `read`."""
        return self._attachment.log() if self._attachment else b""

    def ended(self) -> Exit | None:
        """Return how it ended; None while it runs.

        Raises:
            OutsideError: The engine ended.
        """
        if self._exit is None and self._id:
            with telling(self._engine, "looking at a container"):
                state = self._engine.client.api.inspect_container(self._id).get("State")
            if not isinstance(state, dict):
                raise garbled(self._engine, "looking at a container")
            if state.get("Status") in {"exited", "stopped", "dead"}:
                self._exit = self._read_exit(state)
        return self._exit

    def kill(self, signal: str = "KILL") -> None:
        """Send a signal; nothing happens where it has ended."""
        self._killed = True
        with telling(self._engine, "stopping a container"), contextlib.suppress(sdk.docker().errors.APIError):
            if self._id:
                self._engine.client.api.kill(self._id, signal)

    def fetch(self, path: str, target: Path) -> None:
        """Copy a file or folder from below /job to this machine.

        Args:
            path: Absolute path in the container.
            target: Path of the file or folder to make.

        Raises:
            InputError: The path does not lie below /job.
            OutsideError: It is not there, holds something else than files and folders, or the disk refused it.
        """
        inner_path(path)
        with telling(self._engine, f"fetching {path} from a container"):
            try:
                found = read_archive(self._engine, self._id, path)
            except sdk.docker().errors.NotFound as error:
                raise OutsideError(f"{path} is not in the container: what ran there did not write it.") from error
            with contextlib.closing(found):
                take_out(found.iter_content(_PIECE), target)

    def memory_bytes(self) -> int:
        """Return the memory that it uses, without what the kernel would give back; 0 where that is not known."""
        with telling(self._engine, "measuring a container"):
            found = self._engine.client.api.stats(self._id, stream=False, one_shot=True).get("memory_stats")
        held = found if isinstance(found, dict) else {}
        details = held.get("stats") or {}
        reclaimable = details.get("total_inactive_file", details.get("inactive_file", 0))
        return max(0, int(held.get("usage") or 0) - int(reclaimable or 0))

    def remove(self) -> None:
        """End and remove it with its folder; may be called again.

        Raises:
            OutsideError: The engine refused, or ended.
        """
        if self._attachment:
            self._attachment.close()
        self._remove_container()
        if self._volume:
            remove_volume(self._engine, self._volume)
            self._volume = ""

    def _start(self, described: dict[str, Any]) -> None:
        with telling(self._engine, f"starting a container of {self._request.image}"):
            api = self._engine.client.api
            self._id = api.create_container_from_config(described)["Id"]
            self._attachment = Attachment(self._engine, self._id, keep=self._keep)
            api.start(self._id)

    def _read_exit(self, state: dict[str, Any]) -> Exit:
        code = int(state.get("ExitCode") or 0)
        # Podman does not always see why the kernel killed a container; who else would, where there is a limit?
        killed = code == _KILLED and self._request.limits.memory_bytes > 0 and not self._killed
        return Exit(code, bool(state.get("OOMKilled")) or killed, str(state.get("Error") or ""))

    def _own_user(self) -> str:
        with telling(self._engine, f"looking at {self._request.image}"):
            config = self._engine.client.api.inspect_image(self._request.image).get("Config") or {}
        return str(config.get("User") or "")

    def _remove_container(self) -> None:
        if not self._id:
            return
        with telling(self._engine, "removing a container"), contextlib.suppress(sdk.docker().errors.NotFound):
            self._engine.client.api.remove_container(self._id, v=True, force=True)
        self._id = ""


def run_container(
    engine: Engine, request: ContainerRequest, time_limit: float, cancel: threading.Event | None = None
) -> Finished:
    """Run a program in a container to its end.

    Args:
        engine: Where it runs.
        request: What runs.
        time_limit: Seconds that it may take once it runs.
        cancel: Stops it when set.

    Raises:
        InputError: The request is not sound.
        OutsideError: The engine refused, or ended.
        StoppedError: `cancel` was set.
    """
    deadline, stdout = time.monotonic() + time_limit, bytearray()
    with Container(engine, request, keep_output=True) as container:
        container.start()
        container.close_stdin()
        while (exit_ := _look(container, stdout)) is None:
            if cancel is not None and cancel.is_set():
                raise StoppedError(f"a container of {request.image} was stopped.")
            if time.monotonic() > deadline:
                container.kill()
                return Finished(_KILLED, bytes(stdout), container.log(), out_of_memory=False, timed_out=True)
        return Finished(exit_.code, bytes(stdout), container.log(), exit_.out_of_memory, timed_out=False)


def _look(container: Container, stdout: bytearray) -> Exit | None:
    """Take what a container wrote, and return how it ended once there is no more; None before."""
    piece = container.read(_TICK)
    if piece is None:
        return None
    stdout += piece[: _MOST_OUTPUT - len(stdout)]
    if piece:
        return None
    exit_ = container.ended()
    if exit_ is None:
        time.sleep(_TICK)
    return exit_

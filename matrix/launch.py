"""Run the worker in an environment: once to its end, or kept open to time steps on command."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from ..compat.errors import OutsideError, StackproofError
from .outcome import Outcome, never_started
from .watch import TICK, Request, Watch

if TYPE_CHECKING:
    import threading
    from types import TracebackType

    from .outcome import Cut

__all__ = ["Outcome", "Request", "Server", "Steps", "WorkerError", "run_worker"]

_QUIT_TIME: Final = 5.0


class Worker(Protocol):
    """A running worker: a process of this machine, or one in a container."""

    def look(self, deadline: float) -> Cut | None:
        """Look once: None while it runs within its limits, else why it ended or must end; see `Watch.look`."""

    def finish(self, cut: Cut, limit: float = 0.0) -> Outcome:
        """End whatever is left of it, and say how it went; see `Watch.finish`."""

    def write(self, data: bytes) -> None:
        """Write to its standard input."""

    def read(self, seconds: float) -> bytes:
        """Return what it wrote to its standard output, waiting so long at most."""

    def bring(self) -> None:
        """See that its evidence lies where the request says."""


def start_worker(request: Request, cancel: threading.Event | None, *, serve: bool = False) -> Worker:
    """Start a worker, without waiting for it.

    Args:
        request: What to run, and whether in an image.
        cancel: Ends it when set.
        serve: Whether its standard output is read, or goes to its log.

    Raises:
        OSError: The interpreter cannot be started.
        OutsideError: The disk refuses the run's folder, or the engine failed.
    """
    if request.image is None:
        return Watch(request, cancel, stdout=subprocess.PIPE if serve else None)
    from .contained import Contained  # noqa: PLC0415 - the engine's client is only loaded where there is one

    return Contained(request, request.image, cancel, serve=serve)


@dataclass(frozen=True)
class Steps:
    """Timed steps.

    Attributes:
        seconds: Wall time of all of them.
        cpu_seconds: Time of the worker's processors, over all its threads.
    """

    seconds: float
    cpu_seconds: float


class WorkerError(OutsideError):
    """A serving worker has ended, or had to be ended.

    Attributes:
        outcome: How.
    """

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__("\n".join([outcome.reason or "the worker ended before it was told to", *outcome.log]))


def run_worker(request: Request, cancel: threading.Event | None = None) -> Outcome:
    """Run a worker to its end; nothing that it started is left behind.

    Args:
        request: What to run.
        cancel: Ends it when set.

    Returns:
        How it ended: a crash, a hang or a lack of memory is an outcome, not an error.

    Raises:
        OutsideError: The disk refuses the run's folder.
    """
    try:
        worker = start_worker(request, cancel)
    except OSError as error:
        return never_started(error)
    deadline = time.monotonic() + request.time_limit
    cut: Cut | None = None
    try:
        while (cut := worker.look(deadline)) is None:
            time.sleep(TICK)
    finally:
        outcome = worker.finish("cancel" if cut is None else cut, request.time_limit)
    return outcome


class Server:
    """A worker that stays open after its runs and times steps on command.

    Time and memory limits hold here too: the time limit for the runs until it is ready, and for each block of steps.
    Between calls nothing is measured: it waits for a command then.

    Args:
        request: What to run; its job must say `serve`.
        cancel: Ends it when set.
    """

    def __init__(self, request: Request, cancel: threading.Event | None = None) -> None:
        self._request, self._cancel = request, cancel
        self._watch: Worker | None = None
        self._outcome: Outcome | None = None
        self._unread = b""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or self._watch is None or self._outcome is not None:
            self.close()
        else:
            self._outcome = self._watch.finish("cancel")

    def start(self) -> None:
        """Start the worker, without waiting for it.

        Raises:
            WorkerError: Its interpreter cannot be started.
            OutsideError: The disk refuses the run's folder.
        """
        try:
            self._watch = start_worker(self._request, self._cancel, serve=True)
        except OSError as error:
            self._outcome = never_started(error)
            raise WorkerError(self._outcome) from error

    def ready(self, timeout: float | None = None) -> None:
        """Wait until the worker has made its runs and written its evidence.

        Args:
            timeout: Seconds to wait; the request's time limit if not given.

        Raises:
            WorkerError: It ended, or broke a limit.
        """
        self._receive("ready", self._request.time_limit if timeout is None else timeout)
        self._running().bring()

    def steps(self, count: int) -> Steps:
        """Let the worker make steps, and return how long they took.

        Raises:
            WorkerError: It ended, or broke a limit.
        """
        self._send({"do": "steps", "count": count})
        answer = self._receive("steps", self._request.time_limit)
        try:
            return Steps(float(answer["seconds"]), float(answer["cpu_seconds"]))
        except (KeyError, TypeError, ValueError) as error:
            raise self._lost("protocol") from error

    def close(self) -> Outcome:
        """Let the worker quit, end it where it does not, and return how it ended; the same each time."""
        if self._outcome is None:
            self._outcome = self._quit(self._running())
        return self._outcome

    def _quit(self, watch: Worker) -> Outcome:
        try:
            self._write({"do": "quit"})
            deadline = time.monotonic() + _QUIT_TIME
            while (cut := watch.look(deadline)) is None:
                time.sleep(TICK)
        except BaseException:
            watch.finish("cancel")
            raise
        return watch.finish(cut, _QUIT_TIME)

    def _running(self) -> Worker:
        if self._outcome is not None:
            raise WorkerError(self._outcome)
        if self._watch is None:
            raise StackproofError("the worker was not started: call `start` first")
        return self._watch

    def _send(self, command: dict[str, Any]) -> None:
        self._running()
        self._write(command)

    def _write(self, command: dict[str, Any]) -> None:
        """Write a command; a worker that is gone is noticed when its answer is awaited."""
        self._running().write(json.dumps(command).encode() + b"\n")

    def _receive(self, event: str, seconds: float) -> dict[str, Any]:
        """Return the worker's next message, which must be the event given."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._unread:
            if (cut := self._read_or_look(deadline)) is not None:
                raise self._lost(cut, seconds)
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError as error:
            raise self._lost("protocol") from error
        if not isinstance(message, dict) or message.get("event") != event:
            raise self._lost("protocol")
        return message

    def _read_or_look(self, deadline: float) -> Cut | None:
        worker = self._running()
        if chunk := worker.read(TICK):
            self._unread += chunk
            return None
        return worker.look(deadline)

    def _lost(self, cut: Cut, limit: float = 0.0) -> WorkerError:
        if self._outcome is None:
            self._outcome = self._running().finish(cut, limit)
        return WorkerError(self._outcome)

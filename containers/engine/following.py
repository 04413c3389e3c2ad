"""Long calls: read in a thread, so that a stop is heeded while an engine says nothing."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any, Final

from ...compat.errors import StoppedError
from .faults import telling
from .wire import interrupt, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .connect import Engine

_TICK: Final = 0.1
_PATIENCE: Final = 10.0  # seconds for the thread to end once its connection is closed
_MOST_LINES: Final = 1000  # held back while the reader is slow


class _Reading:
    """A response that is being read, line by line, into a queue."""

    def __init__(self, start: Callable[[], Any], engine: Engine, doing: str) -> None:
        self._start, self._engine, self._doing = start, engine, doing
        self._ended = threading.Event()
        self._response: Any = None
        self.lines: queue.Queue[dict[str, Any] | BaseException | None] = queue.Queue(_MOST_LINES)
        self._thread = threading.Thread(target=self._read, daemon=True, name=f"stackproof: {doing}")
        self._thread.start()

    def _read(self) -> None:
        end: BaseException | None = None
        try:
            with telling(self._engine, self._doing):
                self._response = self._start()
                if self._ended.is_set():
                    interrupt(self._response)
                for line in read_lines(self._response):
                    self._put(line)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            end = error
        self._put(end)

    def _put(self, line: dict[str, Any] | BaseException | None) -> None:
        while not self._ended.is_set():
            try:
                return self.lines.put(line, timeout=_TICK)
            except queue.Full:
                continue
        return None

    def end(self) -> None:
        """Close the connection, so that the engine stops, and wait for the thread."""
        self._ended.set()
        if self._response is not None:
            interrupt(self._response)
        self._thread.join(_PATIENCE)


def follow(
    engine: Engine, doing: str, start: Callable[[], Any], cancel: threading.Event | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a long call as they come; leaving the loop early closes the connection.

    Args:
        engine: The engine that is called.
        doing: What is being done, for errors.
        start: Makes the call and returns its response.
        cancel: Stops it when set.

    Raises:
        OutsideError: The engine refused, ended, or answered something else than its API.
        StoppedError: `cancel` was set.
    """
    reading = _Reading(start, engine, doing)
    try:
        while True:
            if cancel is not None and cancel.is_set():
                raise StoppedError(f"{doing} was stopped; nothing that it left half-done is used.")
            try:
                line = reading.lines.get(timeout=_TICK)
            except queue.Empty:
                continue
            if isinstance(line, BaseException):
                raise line
            if line is None:
                return
            yield line
    finally:
        reading.end()

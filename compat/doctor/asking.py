"""Ask other programs within a limit of time: started early, answered late, never waited for beyond it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MOST: Final = 16 * 1024 * 1024
_PART: Final = 65536
_GRACE: Final = 1.0


class Deadline:
    """A moment that the whole examination must not pass.

    Args:
        seconds: From now on.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def left(self, most: float) -> float:
        """Return the seconds left, at most `most`."""
        return max(0.0, min(most, self._until - time.monotonic()))


class Asked:
    """A program that was started and whose answer is still to come.

    Args:
        command: The program and its arguments.
        given: What it gets on standard input.
    """

    def __init__(self, command: Sequence[str | Path], given: str | None = None) -> None:
        self.name = str(command[0])
        self._given = None if given is None else given.encode()
        self._process: subprocess.Popen[bytes] | None = None
        self._failed = ""
        try:
            self._process = subprocess.Popen(
                [os.fspath(part) for part in command],
                stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._failed = str(error)

    def answer(self, limit: float) -> tuple[str, str]:
        """Wait, stop the program where it takes too long, and return what it wrote and why it failed.

        Args:
            limit: Seconds to wait.

        Returns:
            What it wrote, also where it failed half-way; and what went wrong, empty where nothing did.
        """
        process = self._process
        if process is None:
            return "", self._failed
        written = bytearray()
        until = time.monotonic() + limit
        talk = threading.Thread(target=_talk, args=(process, self._given, written), daemon=True)
        talk.start()
        talk.join(limit)
        failed = self._end(talk, until, f"no answer in {limit:.0f} s")
        return bytes(written[:_MOST]).decode(errors="replace"), "it wrote too much" if len(written) > _MOST else failed

    def _end(self, talk: threading.Thread, until: float, late: str) -> str:
        """See that the program ends, and return what went wrong with it."""
        process = self._process
        if process is None:
            return self._failed
        code: int | None = None
        if not talk.is_alive():
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(max(0.0, until - time.monotonic()))
        if code is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
            talk.join(_GRACE)
            return late
        return f"exit code {code}" if code else ""


def _talk(process: subprocess.Popen[bytes], given: bytes | None, written: bytearray) -> None:
    """Give a program its input, and keep what it writes, until it ends, is ended, or has written too much."""
    if given is not None:
        threading.Thread(target=_give, args=(process, given), daemon=True).start()
    if process.stdout is not None:
        with contextlib.suppress(OSError, ValueError), process.stdout as stream:
            while len(written) <= _MOST and (part := os.read(stream.fileno(), _PART)):
                written += part


def _give(process: subprocess.Popen[bytes], given: bytes) -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError, ValueError), process.stdin as stream:
            stream.write(given)

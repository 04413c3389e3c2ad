"""Ask other programs within a limit of time: started early, answered late, never waited for beyond it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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
        if self._process is None:
            return "", self._failed
        try:
            written, _ = self._process.communicate(self._given, timeout=limit)
        except subprocess.TimeoutExpired:
            return self._stop(), f"no answer in {limit:.0f} s"
        except BrokenPipeError:
            return self._stop(), "it ended early"
        code = self._process.returncode
        return written.decode(errors="replace"), f"exit code {code}" if code else ""

    def _stop(self) -> str:
        if self._process is None:
            return ""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired, ValueError, OSError):
            written, _ = self._process.communicate(timeout=1.0)
            return written.decode(errors="replace")
        return ""

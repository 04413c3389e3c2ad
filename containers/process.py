"""Processes of our own: found again, measured and ended together, whatever they started.

A child is started as the leader of a session of its own, with `MARK` in its environment. Its descendants are found by
that session, and those that left it by the mark.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MARK: Final = "STACKPROOF_PROCESS"
GRACE: Final = 2.0  # seconds between asking to end and ending
_PATIENCE: Final = 10.0  # seconds for a killed process to go; one that waits for a device or a dead disk may never
_PROC: Final = Path("/proc")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICK: Final = 0.02


class _Stat(NamedTuple):
    state: str
    session: int


def new_mark() -> str:
    """Return a value for `MARK` that no other process has."""
    return uuid4().hex


def has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Say whether a child has ended, without reaping it: its number, and its session's, stay taken until `wait`."""
    if process.returncode is not None:
        return True
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def members(session: int) -> tuple[int, ...]:
    """Return the living processes of a session, its leader among them."""
    return tuple(pid for pid in _processes() if (stat := _stat(pid)) and stat.session == session and stat.state != "Z")


def marked(mark: str) -> tuple[int, ...]:
    """Return the living processes that carry a mark, wherever they moved; only those whose environment we may read."""
    wanted = f"{MARK}={mark}".encode()
    return tuple(pid for pid in _processes() if wanted in _environment(pid) and _is_alive(pid))


def resident_bytes(pids: Iterable[int]) -> int:
    """Return the resident memory of processes in bytes; pages that they share count once for each."""
    return sum(_resident_pages(pid) for pid in pids) * _PAGE


def peak_bytes(pid: int) -> int:
    """Return the highest resident memory that one living process had, in bytes; 0 where it has ended."""
    with contextlib.suppress(OSError, IndexError):
        for line in (_PROC / str(pid) / "status").read_text(errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def end(process: subprocess.Popen[bytes], mark: str, grace: float = GRACE) -> None:
    """End a child and all that it started, and reap it: ask, wait, then kill.

    Args:
        process: The leader of a session of its own; it may have ended already.
        mark: Its `MARK`.
        grace: Seconds between SIGTERM and SIGKILL.
    """
    left = _signal_all(process, mark, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while left and time.monotonic() < deadline:
        time.sleep(_TICK)
        left = _family(process, mark)
    # A member may fork while the others are being killed: go on until a look finds none.
    deadline = time.monotonic() + _PATIENCE
    while left and time.monotonic() < deadline:
        left = _signal_all(process, mark, signal.SIGKILL)
        time.sleep(_TICK if left else 0)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE)


def _family(process: subprocess.Popen[bytes], mark: str) -> set[int]:
    inside = () if process.returncode is not None else members(process.pid)
    return {*inside, *marked(mark)}


def _signal_all(process: subprocess.Popen[bytes], mark: str, number: signal.Signals) -> set[int]:
    found = _family(process, mark)
    for pid in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
    return found


def _processes() -> Iterator[int]:
    with contextlib.suppress(OSError):
        for name in os.listdir(_PROC):  # noqa: PTH208 - called several times a second; half the cost of Path.iterdir
            if name.isdigit():
                yield int(name)


def _stat(pid: int) -> _Stat | None:
    with contextlib.suppress(OSError, IndexError, ValueError):
        # The command's name, in parentheses, may hold anything: fields count from the last one.
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return _Stat(fields[0].decode(), int(fields[3]))
    return None


def _is_alive(pid: int) -> bool:
    stat = _stat(pid)
    return stat is not None and stat.state != "Z"


def _environment(pid: int) -> list[bytes]:
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return []


def _resident_pages(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int((_PROC / str(pid) / "statm").read_bytes().split()[1])
    return 0

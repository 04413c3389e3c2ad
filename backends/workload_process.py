"""The processes of a training command: started together, found again wherever they went, and ended together.

The command leads a session of its own and carries a mark in its environment, which all that it starts inherits.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MARK = "STACKPROOF_WORKLOAD"
_GRACE = 2.0  # seconds between asking to end and ending
_PATIENCE = 10.0  # seconds for killed processes to go
_TICK = 0.02
_PROC = Path("/proc")


@dataclass(frozen=True)
class Family:
    """A command and all that it started; `child` is the command itself, `mark` what all of them carry."""

    child: subprocess.Popen[bytes]
    mark: str


_RUNNING: dict[str, Family] = {}


def start(command: Sequence[str], folder: Path, variables: Mapping[str, str], keep: int) -> Family:
    """Start a command.

    Args:
        command: The program and its arguments; no shell reads them.
        folder: Its working directory.
        variables: Its environment.
        keep: A file descriptor that it inherits.

    Raises:
        OSError: There is no such program, or it cannot be started.
    """
    mark = uuid.uuid4().hex
    child = subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**variables, MARK: mark},
        pass_fds=(keep,),
        start_new_session=True,
    )
    family = Family(child, mark)
    _RUNNING[mark] = family
    return family


def has_exited(family: Family) -> bool:
    """Say whether the command itself has ended; it is not reaped, so that its number stays taken."""
    if family.child.returncode is not None:
        return True
    return os.waitid(os.P_PID, family.child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end(family: Family) -> int | None:
    """End the command and all that it started: ask, wait, then kill.

    Returns:
        The command's status as `Popen.returncode` has it; None where it cannot even be killed.
    """
    left = _signal(family, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE
    while left and time.monotonic() < deadline:
        time.sleep(_TICK)
        left = _members(family)
    deadline = time.monotonic() + _PATIENCE
    while left and time.monotonic() < deadline:
        left = _signal(family, signal.SIGKILL)
        time.sleep(_TICK if left else 0)
    with contextlib.suppress(subprocess.TimeoutExpired):
        family.child.wait(_PATIENCE)
    _RUNNING.pop(family.mark, None)
    return family.child.returncode


def kill_all() -> None:
    """Kill every command that runs, without asking: whoever started this process is gone."""
    for family in list(_RUNNING.values()):
        deadline = time.monotonic() + _PATIENCE
        while _signal(family, signal.SIGKILL) and time.monotonic() < deadline:
            time.sleep(_TICK)


def _signal(family: Family, number: signal.Signals) -> set[int]:
    found = _members(family)
    for pid in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
    return found


def _members(family: Family) -> set[int]:
    """Return the living processes of the command's session, and those with its mark wherever they moved."""
    session = family.child.pid if family.child.returncode is None else 0
    wanted = f"{MARK}={family.mark}".encode()
    return {pid for pid, of in _alive() if (session and of == session) or wanted in _environment(pid)}


def _alive() -> Iterator[tuple[int, int]]:
    """Yield number and session of every process that is no zombie."""
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            # The command's name, in parentheses, may hold anything: fields count from the last one.
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] != b"Z":
                yield int(entry.name), int(fields[3])


def _environment(pid: int) -> list[bytes]:
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return []

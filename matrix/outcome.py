"""How a worker ended, for a human and for the judge."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from ..backends.workload_lines import CommandError
from .logs import decisive_lines, last_exception, read_tail

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["ok", "crash", "signal", "hang", "out-of-memory", "refused", "stopped", "disk"]
Cut = Literal["", "time", "memory", "cancel", "protocol"]

_MEMORY: Final = re.compile(
    r"MemoryError|[Oo]ut of memory|RESOURCE_EXHAUSTED|ResourceExhausted|OOM when allocating|"
    r"an't allocate memory|annot allocate memory|std::bad_alloc"
)
_DISK: Final = re.compile(r"No space left on device|Disk quota exceeded|Read-only file system")
_INTERRUPTIONS: Final = frozenset({"SIGINT", "SIGTERM", "SIGHUP"})
_LONGEST: Final = 300
_SCARCE: Final = 64 * 1024
_REFUSED: Final = 2
_MIB: Final = 1024 * 1024


@dataclass(frozen=True)
class Outcome:
    """How a worker ended.

    Attributes:
        ok: Whether it did its job and left evidence.
        kind: In one word. `refused`: it cannot do what the spec asks; `hang`: its time ran out; `stopped`: by the user;
            `disk`: its folder cannot be written, which says nothing about the stack.
        exit_code: Its exit status; None where a signal ended it, or where it never started.
        signal: Name of the signal that ended it, such as `SIGSEGV`; None where none did.
        seconds: Wall time from its start to its end.
        peak_memory_bytes: Highest resident memory seen, of it and its children together.
        reason: One sentence on what went wrong; empty where nothing did.
        log: The decisive lines of its log; empty where nothing went wrong, and where it refused: the reason says all.
    """

    ok: bool
    kind: Kind
    exit_code: int | None
    signal: str | None
    seconds: float
    peak_memory_bytes: int
    reason: str
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ending:
    """What is known of a worker's end.

    Attributes:
        cut: Why we ended it; empty where it ended by itself.
        status: As `Popen.returncode`; None where it could not even be killed.
        seconds: Wall time.
        peak: Highest resident memory seen, in bytes.
        limit: The limit that it broke: seconds for `time`, bytes for `memory`.
        kernel_killed: Whether the kernel's out-of-memory killer ended a process of this machine meanwhile.
    """

    cut: Cut
    status: int | None
    seconds: float
    peak: int
    limit: float
    kernel_killed: bool


def judge_ending(ending: Ending, log: Path, evidence: Path) -> Outcome:
    """Say how a worker ended, from its end, its log and its evidence."""
    text = read_tail(log)
    written = _read_evidence(evidence)
    kind, reason = _cut_short(ending) if ending.cut else _by_itself(ending, text, written)
    if kind in {"crash", "signal"} and (told := _disk_refuses(f"{text}\n{reason}", log.parent)):
        kind, reason = "disk", told
    lines = () if kind in {"ok", "refused"} else decisive_lines(text)
    if ending.cut == "time":
        # We aborted it, to have it say where it hangs.
        lines = tuple(line for line in lines if not line.startswith("Fatal Python error: Aborted"))
    code, name = _status(ending.status)
    return Outcome(kind == "ok", kind, code, name, ending.seconds, ending.peak, reason, lines)


def never_started(error: OSError) -> Outcome:
    """Return the outcome of a worker whose interpreter could not be started."""
    return Outcome(ok=False, kind="crash", exit_code=None, signal=None, seconds=0.0, peak_memory_bytes=0,
                   reason=f"the environment's Python could not be started: {error}")  # fmt: skip


def _cut_short(ending: Ending) -> tuple[Kind, str]:
    match ending.cut:
        case "time":
            return "hang", f"the worker did not end within {ending.limit:g} s and was stopped"
        case "memory":
            used, limit = ending.peak // _MIB, ending.limit // _MIB
            return "out-of-memory", f"the worker used {used} MiB, above its limit of {limit:.0f} MiB, and was stopped"
        case "protocol":
            return "crash", "the worker answered with something that is not its protocol and was stopped"
        case _:
            return "stopped", "the run was stopped by the user"


def _by_itself(ending: Ending, text: str, written: dict[str, Any] | None) -> tuple[Kind, str]:
    if ending.status is None or ending.status < 0:
        return _by_signal(ending)
    error = (written or {}).get("error")
    if isinstance(error, dict):
        if error.get("exit_code") == _REFUSED:
            return "refused", str(error.get("message"))
        told = "" if error.get("kind") == CommandError.__name__ else f"{error.get('kind')}: "
        said = f"{told}{error.get('message')}"
        return _crash(said.splitlines()[0][:_LONGEST], said)
    if ending.status != 0:
        said = last_exception(text)
        why = said or "its log does not say why"
        return _crash(f"the worker ended with status {ending.status}: {why}", said)
    if written is None:
        return "crash", "the worker ended as if all were well, but left no evidence that can be read"
    return "ok", ""


def _disk_refuses(text: str, folder: Path) -> str:
    """Return what the disk refused to a worker that failed; empty where it seems to have had nothing to do with it.

    A log on a full disk is cut short: the disk is looked at, too.
    """
    if found := _DISK.search(text):
        return f"the disk refused the worker's files in {folder}: {found[0]}; free some space there"
    try:
        free = os.statvfs(folder)
    except OSError:
        return ""
    scarce = free.f_bavail * free.f_frsize < _SCARCE
    return f"the worker failed, and no space is left on the disk of {folder}: free some there" if scarce else ""


def _by_signal(ending: Ending) -> tuple[Kind, str]:
    _, name = _status(ending.status)
    if name in _INTERRUPTIONS:
        # Ctrl-C reaches a worker that has not left our process group yet; a shutdown reaches every process.
        return "stopped", f"the worker was interrupted by signal {name}"
    if name != "SIGKILL":
        return "signal", f"the worker was ended by signal {name}{_MEANINGS.get(name or '', '')}"
    told = "the worker was killed by signal 9, which stackproof did not send"
    if ending.kernel_killed:
        return "out-of-memory", f"{told}; the kernel's out-of-memory killer ended a process meanwhile"
    return "signal", f"{told}; most often this is the kernel's or the container's out-of-memory killer"


_MEANINGS: Final = {
    "SIGSEGV": ": native code touched memory that is not its own",
    "SIGABRT": ": native code found itself in a state it cannot go on from",
    "SIGILL": ": native code uses instructions that this processor lacks",
    "SIGBUS": ": native code touched memory that is not there, as when shared memory or a disk is full",
    "SIGFPE": ": native code divided by zero",
}


def _crash(reason: str, said: str) -> tuple[Kind, str]:
    return ("out-of-memory" if _MEMORY.search(said) else "crash"), reason


def _status(status: int | None) -> tuple[int | None, str | None]:
    if status is None or status >= 0:
        return status, None
    try:
        return None, signal.Signals(-status).name
    except ValueError:
        return None, f"signal {-status}"


def _read_evidence(path: Path) -> dict[str, Any] | None:
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return written if isinstance(written, dict) else None

"""The few lines of a long log that say what went wrong."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

MOST_LINES: Final = 12
_WIDTH: Final = 300
_TAIL: Final = 256 * 1024
_FRAMES: Final = 4
_LAST: Final = 5
_ANSI: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07)")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_EXCEPTION: Final = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)(?::|$)")
_WORDS: Final = re.compile(
    r"Fatal Python error|Segmentation fault|Bus error|Illegal instruction|Floating point exception|"
    r"^Killed\b|^Aborted\b|"
    r"CUDA error|CUDA driver|CUDA initiali[sz]ation|cuDNN|CUDNN_STATUS|CUBLAS_STATUS|NCCL error|nvrtc: error|"
    r"RESOURCE_EXHAUSTED|[Oo]ut of memory|OOM when allocating|can't allocate memory|std::bad_alloc|"
    r"cannot open shared object file|undefined symbol|version `GLIBC|LLVM ERROR|LLVM CommandLine|Check fail(?:ed|ure)|"
    r"terminate called|what\(\):|double free|free\(\): invalid|corrupted size|stack smashing|compiled using NumPy 1|"
    r"No space left on device|\bfatal error: "
)
_DUMP: Final = re.compile(r"Current thread 0x[0-9a-f]+")


def read_tail(path: Path) -> str:
    """Return the end of a log, at most 256 KiB of it; empty where there is no log."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def decisive_lines(text: str) -> tuple[str, ...]:
    """Pick the lines that say what went wrong, in their order, without colours; at most twelve, of bounded length.

    These are the line that ends each traceback, what native code says when it dies, and the innermost frames of a dump
    by `faulthandler`. A log that has none of these is represented by its last lines.
    """
    lines = [_clean(line) for line in text.splitlines()]
    picked = dict.fromkeys(lines[number].strip() for number in sorted(_decisive(lines)))
    chosen = list(picked)[-MOST_LINES:] or [line.strip() for line in lines if line.strip()][-_LAST:]
    return tuple(line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in chosen)


def last_exception(text: str) -> str:
    """Return the line that ends the last traceback of a log, or an empty string."""
    lines = [_clean(line) for line in text.splitlines()]
    ends = sorted(_traceback_ends(lines))
    return lines[ends[-1]].strip()[:_WIDTH] if ends else ""


def _decisive(lines: list[str]) -> set[int]:
    found = _traceback_ends(lines)
    for number, line in enumerate(lines):
        if _DUMP.search(line):
            innermost = range(number + 1, min(number + 1 + _FRAMES, len(lines)))
            found.update(frame for frame in innermost if lines[frame].lstrip().startswith("File "))
        elif _WORDS.search(line) or _EXCEPTION.match(line):
            found.add(number)
    return {number for number in found if lines[number].strip()}


def _traceback_ends(lines: list[str]) -> set[int]:
    """Return where each traceback's exception is named: the first line after it that is not indented."""
    ends, inside = set(), False
    for number, line in enumerate(lines):
        if line.startswith("Traceback (most recent call last)"):
            inside = True
        elif inside and line and not line[0].isspace():
            ends.add(number)
            inside = False
    return ends


def _clean(line: str) -> str:
    # A progress bar overwrites its line: what stands at the end is what one would see.
    return _CONTROL.sub("", _ANSI.sub("", line.rstrip("\r").rpartition("\r")[2]))

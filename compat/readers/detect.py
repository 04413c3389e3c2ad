"""Read the lines of one input: pins at once, all else by the reader that its content asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .requirement import PIN, settle_weak
from .requirements import add_pin, note_index
from .text import is_fence

if TYPE_CHECKING:
    from .reading import Reading


def read_lines(reading: Reading, lines: list[str]) -> None:
    """Read all lines of one input."""
    note_index(reading, lines)
    index = _read_pins(reading, lines, 0)
    if index < len(lines):
        from .kinds import finish, read_other  # noqa: PLC0415 - frozen environments need none of the other readers

        while index < len(lines):
            index = _read_pins(reading, lines, read_other(reading, lines, index))
        finish(reading)
    settle_weak(reading)


def _read_pins(reading: Reading, lines: list[str], index: int) -> int:
    """Read pins and what is blank; return the index of the first line that is neither."""
    while index < len(lines):
        line = lines[index].strip()
        if (pin := PIN.fullmatch(line)) is not None:
            add_pin(reading, pin, reading.where(index))
        elif line and not is_fence(line):
            break
        index += 1
    return index

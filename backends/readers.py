"""Readers of single values: each takes a raw value and returns the one wanted, or refuses it with the mend."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

LONGEST_SHOWN = 60
# An integer of this length is a float64 without overflow.
LARGEST_BITS = 1023
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Refusal(Exception):  # noqa: N818 - a word of control flow; it never leaves `tables`
    """Why a value is not taken, and what to write instead."""


@dataclass(frozen=True)
class Bounds:
    """Between which limits a number lies; None for no limit.

    Attributes:
        least: Smallest number allowed.
        most: Largest number allowed.
        above: The number must be greater than this.
        below: The number must be smaller than this.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def hold(self, value: float) -> bool:
        """Say whether a number lies between the limits."""
        return (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        if self.least is not None and self.most is not None:
            return f"from {self.least} to {self.most}"
        named = (("at least", self.least), ("above", self.above), ("at most", self.most), ("below", self.below))
        return " and ".join(f"{words} {limit}" for words, limit in named if limit is not None)


def integer(bounds: Bounds) -> Callable[[object], int]:
    """Return a reader of integers within bounds; true and false are none."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            whole = isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53
            mend = f": write {int(value)}" if whole else _unquote(value)  # type: ignore[call-overload] # a whole float
            raise Refusal(f"must be an integer, not {show(value)}{mend}")
        if not bounds.hold(value):
            raise Refusal(f"must be {bounds}, not {show(value)}")
        return value

    return read


def number(bounds: Bounds) -> Callable[[object], float]:
    """Return a reader of finite numbers within bounds; an integer counts as the number it is."""

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Refusal(f"must be a number, not {show(value)}{_unquote(value)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise Refusal(f"must be a finite number, not {value}")
        if not bounds.hold(value) or (isinstance(value, int) and value.bit_length() > LARGEST_BITS):
            raise Refusal(f"must be {bounds}, not {show(value)}")
        return float(value) + 0.0

    return read


def flag(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise Refusal(f"must be true or false, not {show(value)}")
    return value


def text(value: object) -> str:
    """Read text."""
    if not isinstance(value, str):
        raise Refusal(f"must be text in quotes, not {show(value)}")
    return value


def optional(read: Callable[[object], T]) -> Callable[[object], T | None]:
    """Return a reader that also takes None, which written records have for what is not there."""
    return lambda value: None if value is None else read(value)


def choice(*choices: str) -> Callable[[object], str]:
    """Return a reader of one word out of several."""
    *others, last = (json.dumps(word) for word in choices)

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise Refusal(f"must be {', '.join(others)} or {last}, not {show(value)}")
        return value

    return read


def name_of(value: object) -> str:
    """Read a name that can be part of ids, file names and image tags."""
    given = text(value)
    if slug(given) != given:
        rule = "may hold letters, digits, '_', '-' and '.', begins with a letter or digit and has at most 64 characters"
        raise Refusal(f"{show(given)} cannot be a name, which {rule}: write {json.dumps(slug(given))}")
    return given


def slug(given: str) -> str:
    """Return the name nearest to some text; the text itself where it is a name."""
    if _NAME.fullmatch(given):
        return given
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", given).strip("_.-")[:64] or "unnamed"


def show(value: object) -> str:
    """Return a raw value as an error message shows it: short, on one line, in TOML's notation."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value.bit_length() <= LONGEST_SHOWN else f"an integer of {value.bit_length()} bits"
    if isinstance(value, float):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}...")
    if isinstance(value, (list, tuple)):
        return "a list"
    return "a table" if isinstance(value, Mapping) else f"a {type(value).__name__}"


def _unquote(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_SHOWN:
        return ""
    try:
        float(value)
    except ValueError:
        return ""
    return ": drop the quotes"


def distinct(read: Callable[[object], T], key: Callable[[T], object]) -> Callable[[object], T]:
    """Return a reader for one list's entries that refuses a value seen before.

    Args:
        read: The reader of an entry.
        key: What two entries have in common where they are the same.
    """
    seen: dict[object, object] = {}

    def read_new(value: object) -> T:
        taken = read(value)
        if key(taken) in seen:
            raise Refusal(f"{show(value)} is in the list already, as {show(seen[key(taken)])}: remove one of them")
        seen[key(taken)] = value
        return taken

    return read_new

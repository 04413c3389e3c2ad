"""How checks of an inspection name what they found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...compat.verdict import Check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAMED: Final = 5


def judge(name: str, faults: Sequence[str], measured: str, allowed: str, sound: str) -> Check:
    """Return a check that holds where nothing is at fault.

    Args:
        name: The check's name.
        faults: What is wrong, each in words.
        measured: What was found.
        allowed: What would have held.
        sound: Why it holds, where it does.
    """
    why = list_some(faults, "; ") if faults else sound
    return Check(name, "fail" if faults else "pass", measured, allowed, why)


def list_some(found: Sequence[str], between: str = ", ") -> str:
    """Return the first of some words, and how many more there are."""
    more = len(found) - _NAMED
    return between.join([*found[:_NAMED], *([f"and {more} more"] if more > 0 else [])])


def count(document: Mapping[str, Any], name: str) -> int:
    """Return how many entries a list of an inspection had before long ones were cut.

    Args:
        document: The inspection.
        name: The list, such as `setuid` or `elf.unresolved`.
    """
    at: Any = document
    for part in name.split("."):
        at = at[part]
    return int(document["cut"].get(name, len(at)))

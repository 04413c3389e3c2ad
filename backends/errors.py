"""The root of the error tree, and the errors that the compile layer raises.

StackproofError           exit 3: something failed, and no narrower word fits
├── InputError            exit 2: the input or usage is wrong; carries every fault found
└── UnsupportedError      exit 2: the spec asks for what this framework or build cannot do
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class StackproofError(Exception):
    """An error for a user: what happened, why, and what to do.

    Attributes:
        exit_code: The process exit code that stands for this kind of error.
    """

    exit_code: ClassVar[int] = 3

    def at(self, place: str) -> StackproofError:
        """Return the same error with where it happened."""
        return type(self)(f"{self} ({place})")


@dataclass(frozen=True)
class Fault:
    """One thing wrong with an input.

    Attributes:
        where: The key path, such as `axes.torch[1]`; empty where the fault is the whole input's.
        what: What is wrong and how to mend it, in one sentence.
        source: The input that holds the fault, where that is another one than the error's own, such as a spec file that
            a matrix names.
    """

    where: str
    what: str
    source: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class InputError(StackproofError):
    """An input that cannot be used, with all of its faults.

    Args:
        source: The name of the input, as the user gave it.
        faults: Every fault found, in the input's order; at least one.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        super().__init__("\n".join(f"{fault.source or source}: {fault}" for fault in self.faults))

    def at(self, place: str) -> InputError:
        """Return the same error, each fault with where it happened."""
        return type(self)(self.source, [replace(fault, what=f"{fault.what} ({place})") for fault in self.faults])


class UnsupportedError(StackproofError):
    """A spec asks for something that this framework, build or device cannot do."""

    exit_code: ClassVar[int] = 2


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Say which known name is meant, or list them all.

    Args:
        given: The unknown name.
        known: The names that would have been accepted.

    Returns:
        A sentence to end an error message with.
    """
    names = sorted(known)
    close = difflib.get_close_matches(given, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names) or 'none'}"

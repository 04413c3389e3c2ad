"""The lines that a training command reports: one step each, read as they come and held to their form.

A line is JSON: `{"step": 1, "loss": 2.3}`, with `grad_norm`, `seconds` and `samples` in every line or in none; other
keys are left alone. The last may be `{"final": {"parameters_digest": "..."}}`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, ClassVar

from .errors import StackproofError

LONGEST_LINE = 64 * 1024
OPTIONAL = ("grad_norm", "seconds", "samples")
_EXCERPT = 80
_LONGEST_DIGEST = 200
_MOST_SAMPLES = 2**53
_COUNT_BITS = 64


class CommandError(StackproofError):
    """A training command did not do what is asked of one.

    Attributes:
        log: The end of what it wrote to its standard error.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True)
class Step:
    """What a command reported of one step.

    Attributes:
        loss: The loss; None where it is not finite.
        grad_norm: The gradient norm; None where it is not finite, or where none are reported.
        seconds: What the step took; None where it is not reported.
        samples: How many samples it took in; None where it is not reported.
        at: When the line came, in seconds of the clock that the reader was given.
    """

    loss: float | None
    grad_norm: float | None
    seconds: float | None
    samples: int | None
    at: float


class Lines:
    """What a command has reported so far.

    Args:
        most: The number of steps that it is to make.

    Attributes:
        steps: The steps reported so far.
        digest: Digest of the final parameters, as the command states it; empty where it does not.
        ended: Whether the final line has come.
        optional: The optional keys that its lines have.
    """

    def __init__(self, most: int) -> None:
        self.steps: list[Step] = []
        self.digest, self.ended = "", False
        self.optional: tuple[str, ...] = ()
        self._most, self._unread, self._number = most, b"", 0

    def take(self, chunk: bytes, at: float) -> None:
        """Read what came.

        Args:
            chunk: Bytes, wherever they were cut.
            at: When they came.

        Raises:
            CommandError: A line is not one that may come here.
        """
        *whole, self._unread = (self._unread + chunk).split(b"\n")
        for line in whole:
            self._line(line, at)
        if len(self._unread) > LONGEST_LINE:
            self._line(self._unread, at)

    def finish(self, at: float) -> None:
        """Read what is left after the last end of a line, as a line.

        Raises:
            CommandError: It is not one that may come here.
        """
        rest, self._unread = self._unread, b""
        if rest:
            self._line(rest, at)

    def _line(self, line: bytes, at: float) -> None:
        self._number += 1
        if len(line) > LONGEST_LINE:
            raise self._fault(line, f"is longer than {LONGEST_LINE} bytes")
        try:
            table = json.loads(line)
        except (ValueError, RecursionError):
            raise self._fault(line, "is no JSON") from None
        if not isinstance(table, dict):
            raise self._fault(line, "is no JSON object")
        if self.ended:
            raise self._fault(line, "comes after the final one")
        if "final" in table:
            self._take_final(line, table)
        else:
            self._take_step(line, table, at)

    def _take_step(self, line: bytes, table: dict[str, Any], at: float) -> None:
        missing = [key for key in ("step", "loss") if key not in table]
        if missing:
            raise self._fault(line, f"has no {' and no '.join(missing)}")
        self._check_place(line, table["step"])
        self._check_optional(line, table)
        self.steps.append(
            Step(
                loss=self._number_of(line, table, "loss"),
                grad_norm=self._number_of(line, table, "grad_norm"),
                seconds=self._duration(line, table),
                samples=self._count(line, table),
                at=at,
            )
        )

    def _check_place(self, line: bytes, step: object) -> None:
        expected = len(self.steps) + 1
        if isinstance(step, bool) or not isinstance(step, int):
            raise self._fault(line, "has a step that is no integer")
        if expected > self._most:
            raise self._fault(line, f"reports more than the {self._most} steps that STACKPROOF_STEPS asks for")
        if step != expected:
            raise self._fault(line, f"reports step {_short(step)} where step {expected} is next")

    def _check_optional(self, line: bytes, table: dict[str, Any]) -> None:
        present = tuple(key for key in OPTIONAL if key in table)
        if not self.steps:
            self.optional = present
        elif present != self.optional:
            key = next(key for key in OPTIONAL if (key in present) != (key in self.optional))
            word = "has" if key in present else "lacks"
            raise self._fault(line, f"{word} {key}, unlike the lines before it: report it in every line or in none")

    def _number_of(self, line: bytes, table: dict[str, Any], key: str) -> float | None:
        """Return a number, or None where it is not finite; JSON's null stands for one that is not."""
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._fault(line, f"has a {key} that is no number")
        try:
            taken = float(value)
        except OverflowError:
            return None
        return taken if math.isfinite(taken) else None

    def _duration(self, line: bytes, table: dict[str, Any]) -> float | None:
        if "seconds" not in table:
            return None
        seconds = self._number_of(line, table, "seconds")
        if seconds is None or seconds < 0:
            raise self._fault(line, "has seconds that are no number of at least 0")
        return seconds

    def _count(self, line: bytes, table: dict[str, Any]) -> int | None:
        if "samples" not in table:
            return None
        count = table["samples"]
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST_SAMPLES:
            raise self._fault(line, "has samples that are no count")
        return count

    def _take_final(self, line: bytes, table: dict[str, Any]) -> None:
        final = table["final"]
        if "step" in table or not isinstance(final, dict):
            raise self._fault(line, 'is no final line: it must be {"final": {"parameters_digest": "..."}}')
        if len(self.steps) < self._most:
            raise self._fault(line, f"is the final one, after step {len(self.steps)} of {self._most}")
        digest = final.get("parameters_digest", "")
        if not isinstance(digest, str) or not digest.isprintable() or len(digest) > _LONGEST_DIGEST:
            raise self._fault(line, f"has a parameters_digest that is no text of at most {_LONGEST_DIGEST} characters")
        self.digest, self.ended = digest, True

    def _fault(self, line: bytes, what: str) -> CommandError:
        return CommandError(f"line {self._number} of the steps that the command reported {what}: {_excerpt(line)}")


def _excerpt(line: bytes) -> str:
    """Return the beginning of a line, with what cannot be printed written as escapes."""
    shown = json.dumps(line[: 4 * _EXCERPT].decode("utf-8", "replace")[:_EXCERPT])
    return f"{shown}, and so on, {len(line)} bytes" if len(line) > _EXCERPT else shown


def _short(value: int) -> str:
    return str(value) if value.bit_length() <= _COUNT_BITS else "that is far too large"

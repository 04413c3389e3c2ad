"""What rules say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

if TYPE_CHECKING:
    from .facts.table import Row

Severity = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Because:
    """A fact that a finding rests on.

    Attributes:
        fact: What is so.
        source: Where that is from, with date and confidence; or where in the input it was read.
    """

    fact: str
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule says of a stack.

    Attributes:
        code: The rule, such as `SP101`.
        severity: `error`: it cannot work; `warning`: it works, but an installer objects or a slow path is taken;
            `note`: worth knowing.
        components: The components that it speaks of, by canonical name, the first ones to blame first.
        message: What is wrong, in one or two sentences.
        because: The facts that it rests on.
        fix: The smallest changes that mend it, each one enough.
        undetermined: Whether it leaves the question open: something that decides is missing or contradictory.
    """

    code: str
    severity: Severity
    components: tuple[str, ...]
    message: str
    because: tuple[Because, ...] = ()
    fix: tuple[str, ...] = ()
    undetermined: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the finding for `check --json`."""
        document: dict[str, Any] = {
            "code": self.code,
            "severity": self.severity,
            "components": list(self.components),
            "message": self.message,
            "because": [{"fact": reason.fact, "source": reason.source} for reason in self.because],
            "fix": list(self.fix),
        }
        return {**document, "undetermined": True} if self.undetermined else document


def because(row: Row, fact: str) -> Because:
    """Return a row of facts as a reason."""
    return Because(fact, row.source)

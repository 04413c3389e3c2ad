"""The words of a judgement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Verdict = Literal["certified", "drifted", "regressed", "incorrect", "broken", "incompatible", "untested"]
Level = Literal["declared", "resolved", "inspected", "simulated", "trained-cpu", "trained-gpu"]
Outcome = Literal["pass", "fail", "skip"]

VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
LEVELS: Final[tuple[Level, ...]] = get_args(Level)


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: Such as `trajectory`; docs/report.md lists them.
        outcome: Whether it holds; `skip` where it could not be looked at.
        measured: What was measured, in words or a number.
        allowed: What would have held, in the same terms.
        why: What decided the outcome, naming step and quantity where they decide.
    """

    name: str
    outcome: Outcome
    measured: str | float | None
    allowed: str | float | None
    why: str


@dataclass(frozen=True)
class Throughput:
    """A candidate's speed against its baseline, measured in alternation.

    Attributes:
        ratio: Median of the candidate's speed over the baseline's; above 1 is faster.
        low: Lower end of the interval.
        high: Upper end of the interval.
        baseline: Id of the baseline cell.
        confidence: Coverage of the interval, such as 0.95.
        rounds: The ratio of each round, in the order measured.
        steps_per_second: The candidate's median speed in steps per second.
    """

    ratio: float
    low: float
    high: float
    baseline: str
    confidence: float
    rounds: tuple[float, ...]
    steps_per_second: float

"""Which failure decides a verdict, and what is said of a cell that a rule rules out."""

from __future__ import annotations

import itertools

import pytest

from stackproof.compat.finding import Finding
from stackproof.compat.verdict import Check
from stackproof.matrix.judge.envelope import Departure
from stackproof.matrix.judge.verdict import explain_findings, find_verdict

NAMES = ("trajectory", "reference", "determinism", "versions", "start", "throughput")
OUT = Departure(100.0, "loss at step 3", outside=True)


def checks(*failed: str, skipped: tuple[str, ...] = ()) -> list[Check]:
    outcomes = {**dict.fromkeys(NAMES, "pass"), **dict.fromkeys(skipped, "skip"), **dict.fromkeys(failed, "fail")}
    return [Check(name, outcome, None, None, f"{name} decides") for name, outcome in outcomes.items()]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("failed", "verdict"),
    [
        ((), "certified"),
        (("versions",), "broken"),
        (("start",), "incorrect"),
        (("reference",), "incorrect"),
        (("determinism",), "incorrect"),
        (("trajectory",), "incorrect"),
        (("throughput",), "regressed"),
        (("trajectory", "throughput"), "incorrect"),
        (("determinism", "throughput"), "incorrect"),
        (NAMES, "broken"),
    ],
)
def test_the_gravest_failure_decides(failed: tuple[str, ...], verdict: str) -> None:
    assert find_verdict(checks(*failed), OUT)[0] == verdict


@pytest.mark.parametrize(
    ("excess", "verdict"),
    [(1.0001, "drifted"), (10.0, "drifted"), (10.0001, "incorrect"), (float("inf"), "incorrect")],
)
def test_a_run_a_little_outside_has_drifted(excess: float, verdict: str) -> None:
    departure = Departure(excess, "loss at step 1", outside=True)
    assert find_verdict(checks("trajectory"), departure)[0] == verdict
    assert find_verdict(checks("trajectory", "throughput"), departure)[0] == verdict
    assert find_verdict(checks("trajectory", "reference"), departure)[0] == "incorrect"


@pytest.mark.parametrize("failed", list(itertools.combinations(NAMES, 2)))
def test_every_failure_is_a_reason(failed: tuple[str, str]) -> None:
    assert find_verdict(checks(*failed), OUT)[1] == [f"{name} decides" for name in NAMES if name in failed]


@pytest.mark.parametrize("name", NAMES)
def test_what_was_not_looked_at_fails_nothing(name: str) -> None:
    assert find_verdict(checks(skipped=(name,)), OUT) == ("certified", [])


def test_findings_are_explained_once_each() -> None:
    first = Finding("SP601", "error", ("python", "torch"), "No wheel.", fix=("Python 3.12", "torch==2.5.0"))
    second = Finding("SP601", "error", ("python", "numpy"), "None either.")
    assert explain_findings([first, second]) == (
        "SP601: No wheel.",
        "mend: Python 3.12; or torch==2.5.0",
        "stackproof explain SP601 says more",
        "SP601: None either.",
    )

"""The verdict, and that a checker's memory does not change it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import stack, verdict
from random_stacks import STACKS

from stackproof.compat.check import Checker, check
from stackproof.compat.facts import load_table
from stackproof.compat.known import parse_known

if TYPE_CHECKING:
    from stackproof.compat.described import Description

WARM = Checker()


@given(STACKS)
@settings(deadline=None)
def test_a_warm_checker_answers_as_a_cold_one(description: Description) -> None:
    warm = WARM.check(description)
    assert warm == Checker().check(description)
    assert warm == WARM.check(description)


@given(st.lists(STACKS, min_size=2, max_size=6))
@settings(deadline=None, max_examples=40)
def test_the_order_of_stacks_does_not_matter(descriptions: list[Description]) -> None:
    forwards, backwards = Checker(), Checker()
    there = [forwards.check(description) for description in descriptions]
    back = [backwards.check(description) for description in reversed(descriptions)]
    assert there == back[::-1]


@pytest.mark.parametrize(
    ("components", "packages", "expected"),
    [
        ({}, {}, "compatible"),
        ({"driver": "535.104.05"}, {"torch": "2.8.0+cu128"}, "compatible"),
        ({"driver": "470.182.03"}, {"torch": "2.8.0+cu128"}, "incompatible"),
        ({"driver": "470.182.03"}, {"torch": "*"}, "undetermined"),
        ({"gpu": "Voodoo 2"}, {"torch": "2.8.0"}, "undetermined"),
    ],
)
def test_the_verdict_is_that_of_the_worst_finding(
    components: dict[str, str], packages: dict[str, str], expected: str
) -> None:
    assert verdict(components, packages) == expected


def test_errors_come_first() -> None:
    answer = check(stack({"driver": "470.182.03", "gpu": "Voodoo 2"}, {"torch": "2.9.0+cu128", "numpy": "*"}))
    severities = [finding.severity for finding in answer.findings]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert severities[0] == "error"


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (("2.3.0+cu121", "2.1.0+cu121"), "incompatible"),
        (("2.1.0+cu121", "2.1.0+cu118"), "undetermined"),
        (("2.1.0+cu118", "2.0.1+cu118"), "undetermined"),
    ],
)
def test_of_contradicting_reports_only_what_all_share_is_an_error(versions: tuple[str, ...], expected: str) -> None:
    single = stack({"driver": "470.182.03"}, {"torch": versions[0]})
    readings = tuple(known for version in versions if (known := parse_known(version)) is not None)
    assert check(replace(single, known={**single.known, "torch": readings})).verdict == expected


def contradicting(names: list[str]) -> Description:
    single = stack({}, dict.fromkeys(names, "1.0.0"))
    readings = tuple(known for version in ("1.0.0", "2.0.0", "3.0.0") if (known := parse_known(version)) is not None)
    return replace(single, known=dict.fromkeys(names, readings))


def test_very_many_contradictions_are_judged_in_time() -> None:
    names = sorted({str(row["package"]) for row in load_table("packages").rows})
    answer = check(contradicting(names))
    assert answer.verdict != "compatible"
    assert len([finding for finding in answer.findings if finding.code == "SP001"]) == len(names)


def test_what_no_rule_reads_does_not_leave_the_verdict_open() -> None:
    answer = check(contradicting([f"package-{index}" for index in range(200)]))
    assert answer.verdict == "compatible"
    (finding,) = answer.findings
    assert (finding.code, finding.severity) == ("SP001", "note")
    assert "195 more" in finding.message


@pytest.mark.parametrize("versions", [("2.1.0+cu121", "2.1.0+cu118"), ("2.1.0+cu118", "2.1.0+cu121")])
def test_beside_many_other_contradictions_each_reading_of_the_one_that_decides_is_judged(
    versions: tuple[str, ...],
) -> None:
    others = {f"package-{index}": "1.0.0" for index in range(10)}
    single = stack({"driver": "470.182.03"}, {"torch": versions[0], **others})
    readings = tuple(known for version in versions if (known := parse_known(version)) is not None)
    differing = tuple(known for version in ("1.0.0", "2.0.0") if (known := parse_known(version)) is not None)
    known = {**single.known, **dict.fromkeys(others, differing), "torch": readings}
    answer = check(replace(single, known=known))
    assert answer.verdict == "undetermined"
    assert "SP101" in {finding.code for finding in answer.findings}

"""What is said of a command's losses: held against those expected and those of its second run, each by its numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from judged import NAN, Blobs, evidence, record, run_document, track

from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train
from stackproof.backends.spec_workload import Workload
from stackproof.matrix.judge.command import check_losses, judge_command, judge_commands
from stackproof.matrix.records import Failure, Made, Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stackproof.matrix.judge.cell import Judgement

SPEC = Spec(
    "tiny", Mlp(), Data(), Optimizer(), Schedule(), Train(steps=4), workload=Workload(("python", "t.py"), tolerance=0.1)
)
LOSSES = (4.0, 3.0, 2.0, 1.0)


def judged(repeat: Sequence[float | None] | None = LOSSES, spec: Spec = SPEC, **changes: Any) -> Judgement:
    """Judge a cell that has no baseline."""
    blobs = Blobs()
    digest = changes.pop("digest", "bits")
    failure = changes.pop("failure", None)
    document = evidence(blobs, **changes)
    again = None if repeat is None else run_document(blobs, "measured", repeat, parameters_digest=digest)
    made = record(document, measured=Made(Measured(again), failure))
    return judge_command(made, judge_commands(spec, "program", [made], blobs), 0.9)


def check(found: Judgement, name: str) -> tuple[str, Any, str]:
    entry = next(entry for entry in found.checks if entry.name == name)
    return entry.outcome, entry.measured, entry.why


@pytest.mark.parametrize(
    ("losses", "outcome", "excess"),
    [
        (LOSSES, "pass", 0.0),
        ((4.0, 3.0, 2.0, 1.05), "pass", 0.5),
        ((4.0, 3.0, 1.75, 1.0), "fail", 1.25),
        ((4.0, 3.0, 2.0, 2.5), "fail", 15.0),
    ],
)
def test_losses_within_the_tolerance_are_those_expected(losses: tuple[float, ...], outcome: str, excess: float) -> None:
    found, departure = check_losses(track(losses), np.array(LOSSES), 0.1, "the reference")
    assert found.outcome == outcome
    assert found.measured == pytest.approx(0.1 * excess)
    if departure is not None:
        assert departure.excess == pytest.approx(excess)
    else:
        assert outcome == "pass"


def test_a_loss_of_zero_must_be_met() -> None:
    expected = np.array([1.0, 0.0])
    assert check_losses(track((1.0, 0.0), (0.0, 0.0)), expected, 0.1, "")[0].outcome == "pass"
    assert check_losses(track((1.0, 1e-9), (0.0, 0.0)), expected, 0.1, "")[0].outcome == "fail"


def test_a_tolerance_of_zero_asks_for_the_same_numbers() -> None:
    assert check_losses(track(LOSSES), np.array(LOSSES), 0.0, "")[0].outcome == "pass"
    assert check_losses(track((4.0, 3.0, 2.0, 1.0 + 1e-15)), np.array(LOSSES), 0.0, "")[0].outcome == "fail"


def test_the_first_loss_that_is_not_finite_is_named() -> None:
    found, departure = check_losses(track((4.0, NAN, 2.0, NAN)), np.array(LOSSES), 0.1, "")
    assert (found.outcome, found.why) == ("fail", "the loss at step 2 is not a finite number")
    assert departure is not None
    assert departure.excess == float("inf")


def test_a_cell_alone_is_certified_by_its_second_run() -> None:
    found = judged()
    assert (found.verdict, found.level, found.reasons) == ("certified", "trained-cpu", ())
    assert check(found, "trajectory")[0] == "skip"
    assert check(found, "determinism") == ("pass", 0.0, "two runs of the command reported the same")
    assert check(found, "throughput")[0] == "skip"


@pytest.mark.parametrize(
    ("repeat", "outcome", "measured"),
    [
        ((4.0, 3.0, 2.0, 1.05), "pass", 0.05),
        ((4.0, 3.0, 1.0, 1.0), "fail", 0.5),
        ((4.0, None, 2.0, 1.0), "fail", float("inf")),
    ],
)
def test_the_second_run_is_held_against_the_first(
    repeat: tuple[float | None, ...], outcome: str, measured: float
) -> None:
    found = judged(repeat)
    assert check(found, "determinism")[:2] == (outcome, pytest.approx(measured))
    assert found.verdict == ("certified" if outcome == "pass" else "incorrect")


def test_the_step_where_two_runs_part_is_named() -> None:
    assert "first at step 3" in check(judged((4.0, 3.1, 1.0, 5.0)), "determinism")[2]


def test_losses_that_are_not_finite_twice_are_repeated_and_still_wrong() -> None:
    losses = (4.0, None, 2.0, 1.0)
    found = judged(losses, losses=losses)
    assert check(found, "determinism")[0] == "pass"
    assert (found.verdict, found.reasons) == ("incorrect", ("the loss at step 2 is not a finite number",))


def test_other_final_parameters_are_mentioned() -> None:
    found = judged(digest="others")
    assert found.verdict == "certified"
    assert "they end in other parameters" in check(found, "determinism")[2]


def test_a_reference_is_what_losses_are_held_against() -> None:
    workload = replace(SPEC.workload or Workload(), reference="losses.json", losses=(4.0, 3.0, 2.0, 1.5))
    found = judged(spec=replace(SPEC, workload=workload))
    assert (found.verdict, check(found, "trajectory")[0]) == ("drifted", "fail")
    assert found.curves is not None
    assert found.curves["reference_loss"] == [4.0, 3.0, 2.0, 1.5]
    assert found.curves["loss_allowed"] == pytest.approx([0.4, 0.3, 0.2, 0.15])


def test_other_files_than_those_handed_out_are_incorrect() -> None:
    assert judged(program_digest="others").verdict == "incorrect"


def test_other_versions_than_the_locked_ones_are_broken() -> None:
    assert judged(versions={"torch": "2.12.0", "numpy": "2.4.6"}).verdict == "broken"


def test_a_cell_whose_second_run_failed_is_broken_and_one_without_is_not() -> None:
    assert judged(failure=Failure("crash", "the command ended with status 1")).verdict == "broken"
    assert check(judged(None), "determinism")[0] == "skip"


def test_a_cell_that_did_not_run_is_untested() -> None:
    made = record(None)
    assert judge_command(made, judge_commands(SPEC, "program", [made], Blobs()), 0.9).verdict == "untested"

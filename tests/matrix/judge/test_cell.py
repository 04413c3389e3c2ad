"""Cells judged from their records: votes, verdicts, levels and what is shown of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from judged import Blobs, evidence, record, run_document

from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train
from stackproof.compat.cell import Stack
from stackproof.compat.verdict import Throughput
from stackproof.matrix.judge.cell import Judgement, judge_cell
from stackproof.matrix.judge.envelope import SAFETY
from stackproof.matrix.judge.spec import SpecJudge, judge_spec
from stackproof.matrix.records import CellRecord, Failure, Made, Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

SPEC = Spec("tiny", Mlp(), Data(), Optimizer(), Schedule(), Train(steps=4))
START = {"program": "program", "data": "data"}
TORCH = Stack("torch", "2.13.0", "3.11")
NEWER = Stack("torch", "2.15.0", "3.11")
JAX = Stack("jax", "0.10.2", "3.11")
TENSORFLOW = Stack("tensorflow-cpu", "2.21.0", "3.11")
CRASH = Failure("crash", "the worker ended with status 1")
AWAY = Failure("outside", "no network", outside=True)
SLOW = Throughput(0.5, 0.4, 0.6, "torch2.13.0-py311-tiny", 0.95, (0.5,) * 15, 10.0)


def judge(records: Sequence[CellRecord], blobs: Blobs) -> SpecJudge:
    return judge_spec(SPEC, START, records, blobs)


def judged(mine: CellRecord, blobs: Blobs, *others: CellRecord) -> Judgement:
    return judge_cell(mine, judge([mine, *others], blobs), 0.9)


def outcomes(found: Judgement) -> dict[str, str]:
    return {check.name: check.outcome for check in found.checks}


def test_a_cell_where_everything_holds_is_certified() -> None:
    blobs = Blobs()
    repeat = Made(Measured(run_document(blobs, "measured", (4.0, 3.0, 2.0, 1.0))))
    found = judged(record(evidence(blobs), measured=repeat), blobs)
    assert (found.verdict, found.level, found.reasons) == ("certified", "trained-cpu", ())
    assert outcomes(found) == {
        "trajectory": "pass",
        "reference": "pass",
        "determinism": "pass",
        "versions": "pass",
        "throughput": "skip",
    }
    assert (found.mode, found.mode_why) == ("eager", "")
    assert found.curves is not None
    assert found.curves["loss"] == found.curves["reference_loss"] == [4.0, 3.0, 2.0, 1.0]
    assert found.curves["grad_norm"] == found.curves["reference_grad_norm"] == [8.0, 6.0, 4.0, 2.0]
    assert all(value > 0 for value in found.curves["loss_allowed"])


def test_numbers_far_from_the_reference_are_incorrect_and_the_place_is_named() -> None:
    blobs = Blobs()
    found = judged(record(evidence(blobs, losses=(4.0, 3.0, 2.5, 1.0))), blobs)
    assert found.verdict == "incorrect"
    assert "loss at step 3" in found.reasons[0]


def test_numbers_that_noise_carries_as_far_are_certified() -> None:
    blobs = Blobs()
    noisy = evidence(blobs, losses=(4.0, 3.0, 2.5, 1.0), noise=(4.0, 3.0, 2.0 + 0.6 / SAFETY, 1.0))
    assert judged(record(noisy), blobs).verdict == "certified"


def test_noise_of_another_cell_of_the_spec_widens_the_envelope_for_all() -> None:
    blobs = Blobs()
    mine = record(evidence(blobs, losses=(4.0, 3.0, 2.5, 1.0)))
    other = record(evidence(blobs, noise=(4.0, 3.0, 2.0 + 0.6 / SAFETY, 1.0)), stack=NEWER)
    assert judged(mine, blobs, other).verdict == "certified"


def test_a_run_that_diverges_is_incorrect_and_shown_with_gaps() -> None:
    blobs = Blobs()
    found = judged(record(evidence(blobs, losses=(4.0, None, None, None))), blobs)
    assert found.verdict == "incorrect"
    assert found.curves is not None
    assert found.curves["loss"] == [4.0, None, None, None]


def apart(blobs: Blobs, target: str, **changes: Any) -> dict[str, Any]:
    """Return evidence whose float64 run goes another way from step 2 on, and its judged run with it."""
    losses = (4.0, 3.5, 2.0, 1.0)
    runs = [run_document(blobs, name, losses) for name in ("measured", "reference")]
    return evidence(blobs, target, runs=runs, **changes)


def test_the_framework_that_two_others_outvote_is_incorrect_and_they_are_not() -> None:
    blobs = Blobs()
    cells = [
        record(evidence(blobs)),
        record(apart(blobs, "jax"), stack=JAX),
        record(evidence(blobs, "tensorflow"), stack=TENSORFLOW),
    ]
    found = [judge_cell(cell, judge(cells, blobs), 0.9) for cell in cells]
    assert [cell.verdict for cell in found] == ["certified", "incorrect", "certified"]
    assert [outcomes(cell)["reference"] for cell in found] == ["pass", "fail", "pass"]
    assert any("stands apart from tensorflow, torch, first in loss at step 2" in reason for reason in found[1].reasons)


def test_a_framework_has_one_vote_however_many_versions_run() -> None:
    # Two versions of one framework that go the same wrong way do not outvote two others.
    blobs = Blobs()
    cells = [
        record(apart(blobs, "torch")),
        record(apart(blobs, "torch"), stack=NEWER),
        record(evidence(blobs, "jax"), stack=JAX),
        record(evidence(blobs, "tensorflow"), stack=TENSORFLOW),
    ]
    found = judge(cells, blobs)
    assert found.reference is not None
    assert found.reference.frameworks == ("jax", "tensorflow")
    assert [judge_cell(cell, found, 0.9).verdict for cell in cells] == [
        "incorrect",
        "incorrect",
        "certified",
        "certified",
    ]


@pytest.mark.parametrize("baseline_first", [True, False])
def test_a_frameworks_vote_is_its_baselines(*, baseline_first: bool) -> None:
    blobs = Blobs()
    base = record(evidence(blobs), baseline="torch2.13.0-py311-tiny")
    newer = record(apart(blobs, "torch"), stack=NEWER, baseline="torch2.13.0-py311-tiny")
    cells = [base, newer] if baseline_first else [newer, base]
    found = judge(cells, blobs)
    assert [judge_cell(cell, found, 0.9).verdict for cell in (base, newer)] == ["certified", "incorrect"]


def test_cells_of_other_specs_do_not_count() -> None:
    blobs = Blobs()
    found = judge([record(evidence(blobs)), record(apart(blobs, "jax"), stack=JAX, spec="other")], blobs)
    assert found.reference is not None
    assert (found.reference.frameworks, set(found.tracks)) == (("torch",), {"torch2.13.0-py311-tiny"})


def test_other_bits_in_another_process_are_incorrect() -> None:
    blobs = Blobs()
    repeat = Made(Measured(run_document(blobs, "measured", (4.0, 3.0, 2.0, 1.0), parameters_digest="others")))
    found = judged(record(evidence(blobs), measured=repeat), blobs)
    assert (found.verdict, outcomes(found)["determinism"]) == ("incorrect", "fail")


def test_other_versions_than_the_locked_ones_are_broken() -> None:
    blobs = Blobs()
    found = judged(record(evidence(blobs, versions={"torch": "2.15.0", "numpy": "2.4.6"})), blobs)
    assert (found.verdict, found.reasons) == ("broken", ("the process loaded torch 2.15.0 instead of 2.13.0+cpu",))


def test_other_data_than_was_handed_out_is_incorrect() -> None:
    blobs = Blobs()
    found = judged(record(evidence(blobs, data_digest="other")), blobs)
    assert (found.verdict, outcomes(found)["start"]) == ("incorrect", "fail")


@pytest.mark.parametrize(
    ("measured", "why"), [(Made(), "it was not run a second time"), (Made(failure=AWAY), "no network")]
)
def test_a_missing_second_run_says_why(measured: Any, why: str) -> None:
    blobs = Blobs()
    found = judged(record(evidence(blobs), measured=measured), blobs)
    (check,) = (check for check in found.checks if check.name == "determinism")
    assert (check.outcome, check.why) == ("skip", why)


def test_a_slower_cell_has_regressed() -> None:
    blobs = Blobs()
    repeat = run_document(blobs, "measured", (4.0, 3.0, 2.0, 1.0))
    found = judged(record(evidence(blobs), measured=Made(Measured(repeat, SLOW))), blobs)
    assert (found.verdict, found.throughput) == ("regressed", SLOW)


@pytest.mark.parametrize(
    ("baseline", "measured", "why"),
    [
        ("torch2.13.0-py311-tiny", Made(), "this is the baseline that others are held against"),
        ("another", Made(), "speed was not measured"),
        ("another", Made(failure=AWAY), "no network"),
        (None, "repeat", "there is no baseline to hold it against"),
    ],
)
def test_a_missing_ratio_says_why(baseline: str | None, measured: Any, why: str) -> None:
    blobs = Blobs()
    if measured == "repeat":
        measured = Made(Measured(run_document(blobs, "measured", (4.0, 3.0, 2.0, 1.0))))
    found = judged(record(evidence(blobs), baseline=baseline, measured=measured), blobs)
    (speed,) = (check for check in found.checks if check.name == "throughput")
    assert (speed.outcome, speed.why) == ("skip", why)


@pytest.mark.parametrize(
    ("failure", "verdict"),
    [(CRASH, "broken"), (AWAY, "untested"), (Failure("unsolvable", "no such version"), "broken")],
)
def test_a_cell_that_did_not_run_is_broken_or_untested(failure: Failure, verdict: str) -> None:
    blobs = Blobs()
    found = judged(record(None, failure=failure), blobs, record(evidence(blobs), stack=NEWER))
    assert (found.verdict, found.level, found.reasons) == (verdict, "resolved", (failure.reason,))
    assert (found.checks, found.curves, found.throughput) == ((), None, None)


def test_a_cell_that_could_not_be_locked_is_only_declared() -> None:
    blobs = Blobs()
    mine = record(None)
    mine = CellRecord(mine.cell, None, Made(failure=Failure("unsolvable", "no such version")))
    found = judged(mine, blobs)
    assert (found.verdict, found.level) == ("broken", "declared")


def test_a_crash_of_the_repeated_run_is_broken_although_the_first_one_was_right() -> None:
    blobs = Blobs()
    found = judged(record(evidence(blobs), measured=Made(failure=CRASH)), blobs)
    assert (found.verdict, found.reasons) == ("broken", (CRASH.reason,))


def test_a_repeated_run_that_the_outside_prevented_certifies_nothing() -> None:
    blobs = Blobs()
    found = judged(record(evidence(blobs), measured=Made(failure=AWAY)), blobs)
    assert (found.verdict, found.reasons) == ("untested", (AWAY.reason,))
    assert {check.name: check.outcome for check in found.checks}["trajectory"] == "pass"


def test_a_cell_that_was_not_reached_is_untested() -> None:
    found = judged(record(None), Blobs())
    assert (found.verdict, found.reasons) == ("untested", ("it was not run",))


def test_a_run_on_a_gpu_says_so() -> None:
    blobs = Blobs()
    document = evidence(blobs)
    document["platform"] = {**document["platform"], "device": "cuda"}
    assert judged(record(document), blobs).level == "trained-gpu"


def test_a_float64_spec_is_judged_without_noise_at_the_frameworks_agreement() -> None:
    blobs = Blobs()
    wide = Spec("tiny", Mlp(), Data(), Optimizer(), Schedule(), Train(steps=4, precision="float64"))
    for off, verdict in ((1e-10, "certified"), (1e-7, "incorrect"), (2e-9, "drifted")):
        mine = record(evidence(blobs, losses=(4.0, 3.0 * (1.0 + off), 2.0, 1.0)))
        assert judge_cell(mine, judge_spec(wide, START, [mine], blobs), 0.9).verdict == verdict

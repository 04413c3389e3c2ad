"""The checks of one cell: what passes, what fails, and what each one says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from judged import NAN, lock_of, track, tracks

from stackproof.compat.verdict import Check, Throughput
from stackproof.matrix.judge.checks import (
    Standard,
    check_determinism,
    check_reference,
    check_start,
    check_throughput,
    check_trajectory,
    check_versions,
)
from stackproof.matrix.judge.envelope import Envelope, measure_envelope
from stackproof.matrix.judge.reference import find_reference

if TYPE_CHECKING:
    from stackproof.compat.lock import Lock

REFERENCE = find_reference({"torch": track(), "jax": track()})
STANDARD = Standard(
    REFERENCE, Envelope({"loss": np.full(4, 0.5), "grad_norm": np.full(4, 1.0)}, {"weight": 0.5, "bias": 0.5})
)
LOCK = lock_of(torch="2.13.0+cpu", numpy="2.4.6")


def versions(loaded: dict[str, str], modules: dict[str, str] | None = None, lock: Lock = LOCK) -> Check:
    return check_versions(lock, {"versions": loaded, "platform": {"modules": modules or {}}})


LOADED = {"torch": "2.13.0+cpu", "numpy": "2.4.6"}


@pytest.mark.parametrize(
    "modules",
    [{}, {"torch": "2.13.0+cpu"}, {"torch": "2.13.0"}, {"numpy": "2.4.6"}, {"something_of_its_own": "1"}],
)
def test_versions_that_are_the_locked_ones_pass(modules: dict[str, str]) -> None:
    check = versions(LOADED, modules)
    assert (check.name, check.outcome, check.measured, check.allowed) == (
        "versions",
        "pass",
        "2 packages",
        "2 packages",
    )


@pytest.mark.parametrize(
    ("loaded", "modules", "wrong"),
    [
        ({"torch": "2.15.0", "numpy": "2.4.6"}, {}, "torch 2.15.0 instead of 2.13.0+cpu"),
        # Installed versions are exact: another build of the same release is another package.
        ({"torch": "2.13.0", "numpy": "2.4.6"}, {}, "torch 2.13.0 instead of 2.13.0+cpu"),
        ({"torch": "2.13.0+cpu"}, {}, "numpy missing instead of 2.4.6"),
        ({**LOADED, "pip": "26.0"}, {}, "pip 26.0, which the lock does not have"),
        (LOADED, {"torch": "2.12.0"}, "module torch says 2.12.0, its distribution is locked at 2.13.0+cpu"),
        (LOADED, {"torch": "2.13.0+cu130"}, "module torch says 2.13.0+cu130, its distribution is locked at 2.13.0+cpu"),
        (LOADED, {"numpy": "1.26.4"}, "module numpy says 1.26.4, its distribution is locked at 2.4.6"),
    ],
)
def test_versions_that_are_not_the_locked_ones_fail(
    loaded: dict[str, str], modules: dict[str, str], wrong: str
) -> None:
    check = versions(loaded, modules)
    assert (check.outcome, check.measured) == ("fail", wrong)
    assert check.why == f"the process loaded {wrong}"


def test_every_wrong_version_is_listed() -> None:
    check = versions({"torch": "1", "pip": "2"})
    assert check.measured == (
        "torch 1 instead of 2.13.0+cpu; numpy missing instead of 2.4.6; pip 2, which the lock does not have"
    )


@pytest.mark.parametrize(("stated", "outcome"), [("2.21.0", "pass"), ("2.20.0", "fail")])
def test_the_tensorflow_module_is_held_against_the_distribution_that_brings_it(stated: str, outcome: str) -> None:
    lock = lock_of(tensorflow_cpu="2.21.0")
    assert versions({"tensorflow-cpu": "2.21.0"}, {"tensorflow": stated}, lock).outcome == outcome


def test_a_local_version_that_only_the_module_has_is_the_builds_own_word() -> None:
    assert versions({"torch": "2.15.0"}, {"torch": "2.15.0+cu132"}, lock_of(torch="2.15.0")).outcome == "pass"


def promise(*, kept: bool) -> dict[str, Any]:
    return {"platform": {"deterministic": kept, "deterministic_why": "one thread"}}


def determinism(again: dict[str, Any], *, promised: bool = True, first: dict[str, Any] | None = None) -> Check:
    return check_determinism(tracks(track(**(first or {}))), track(**again), promise(kept=promised))


@pytest.mark.parametrize("promised", [True, False])
def test_the_same_bits_pass_whatever_is_promised(*, promised: bool) -> None:
    check = determinism({}, promised=promised)
    assert (check.outcome, check.measured) == ("pass", "same bits")


@pytest.mark.parametrize(
    ("again", "where"),
    [
        ({"losses": (4.0, 3.0, np.nextafter(2.0, 3.0), 9.0)}, "two processes differ first in loss at step 3"),
        ({"grad_norms": (8.0, 6.5, 4.0, 2.0)}, "two processes differ first in grad_norm at step 2"),
        (
            {"losses": (4.0, 3.0, 2.0, 1.5), "grad_norms": (8.0, 6.0, 4.5, 2.0)},
            "two processes differ first in grad_norm at step 3",
        ),
        ({"losses": (4.0, NAN, 2.0, 1.0)}, "two processes differ first in loss at step 2"),
        ({"digest": "others"}, "two processes differ in the final parameters"),
    ],
)
def test_other_bits_fail_where_the_same_are_promised(again: dict[str, Any], where: str) -> None:
    check = determinism(again)
    assert (check.outcome, check.measured, check.allowed) == ("fail", "other bits", "same bits")
    assert check.why == f"{where}; promised: one thread"


def test_other_bits_are_passed_over_where_nothing_is_promised() -> None:
    check = determinism({"digest": "others"}, promised=False)
    assert (check.outcome, check.measured) == ("skip", "other bits")
    assert check.why == "not promised here: one thread"


def test_two_runs_that_diverge_alike_made_the_same_bits() -> None:
    lost = {"losses": (4.0, 3.0, NAN, NAN)}
    assert determinism(lost, first=lost).outcome == "pass"


def test_a_float64_run_like_the_consensus_passes() -> None:
    check = check_reference(tracks(), REFERENCE)
    assert (check.outcome, check.measured, check.allowed) == ("pass", 0.0, 1e-9)
    assert check.why == "the float64 run agrees with jax, torch"


def test_a_float64_run_apart_from_the_consensus_fails_and_says_where() -> None:
    check = check_reference(tracks(reference=track((4.0, 3.0, 2.5, 1.0))), REFERENCE)
    assert (check.outcome, check.measured) == ("fail", 0.25)
    assert check.why == "the float64 run stands apart from jax, torch, first in loss at step 3 (2.5e-01 relative)"


@pytest.mark.parametrize(("off", "outcome"), [(1.0, "pass"), (1.0 + 1e-6, "fail")])
def test_a_float64_run_at_the_limit_agrees(off: float, outcome: str) -> None:
    # 1 / 1e9 is the double nearest to 1e-9.
    reference = find_reference({"torch": track((1e9,) * 4)})
    assert check_reference(tracks(reference=track((1e9, 1e9 + off, 1e9, 1e9))), reference).outcome == outcome


def test_a_float64_run_without_a_number_fails() -> None:
    check = check_reference(tracks(reference=track((4.0, 3.0, NAN, 1.0))), REFERENCE)
    assert check.outcome == "fail"
    assert check.why.endswith("loss at step 3 (not a finite number)")


def test_without_a_consensus_every_float64_run_fails() -> None:
    reference = find_reference({"torch": track(), "jax": track((4.0, 3.0, 2.5, 1.0))})
    for run in (track(), track((4.0, 3.0, 2.5, 1.0))):
        check = check_reference(tracks(reference=run), reference)
        assert check.outcome == "fail"
        assert "nothing says which one is right" in check.why


def test_a_framework_alone_passes_and_says_that_it_is_alone() -> None:
    check = check_reference(tracks(), find_reference({"torch": track()}))
    assert (check.outcome, check.why) == ("pass", "torch alone: no second framework to agree with")


def test_a_version_apart_from_its_own_frameworks_vote_fails() -> None:
    check = check_reference(tracks(reference=track((4.0, 3.0, 2.5, 1.0))), find_reference({"torch": track()}))
    assert check.outcome == "fail"


@pytest.mark.parametrize(
    ("loss", "outcome", "words", "excess"),
    [
        (2.0, "pass", "every number is that of the reference", 0.0),
        (2.25, "pass", "largest excursion is 0.5 of the envelope, at loss at step 3", 0.5),
        (2.75, "fail", "drifts out of the envelope first in loss at step 3", 1.5),
        (7.0, "fail", "drifts out of the envelope first in loss at step 3", 10.0),
        (7.1, "fail", "leaves the envelope first in loss at step 3", 10.2),
        (NAN, "fail", "leaves the envelope first in loss at step 3", np.inf),
    ],
)
def test_a_trajectory_is_held_against_the_envelope(loss: float, outcome: str, words: str, excess: float) -> None:
    check, departure = check_trajectory(tracks(track((4.0, 3.0, loss, 1.0))), STANDARD)
    assert (check.name, check.outcome, check.allowed) == ("trajectory", outcome, 1.0)
    assert check.measured == pytest.approx(excess)
    assert departure.excess == pytest.approx(excess)
    assert check.why.startswith(words)


def test_the_numbers_of_one_rounding_more_are_within_every_envelope() -> None:
    losses = np.array([4.0, 3.0, 2.0, 1.0]) * (1.0 + 2.0**-23)
    envelope = measure_envelope(REFERENCE, [tracks()], "float32")
    check, _ = check_trajectory(tracks(track(losses)), Standard(REFERENCE, envelope))
    assert check.outcome == "pass"


SPEED = Throughput(0.8, 0.7, 0.85, "torch2.13.0-py311-tiny", 0.95, (0.8,) * 15, 10.0)


@pytest.mark.parametrize(
    ("low", "ratio", "high", "outcome"),
    [
        (0.70, 0.80, 0.89, "fail"),
        # The interval reaches the minimum: nothing is shown, whatever the median says.
        (0.70, 0.80, 0.90, "pass"),
        (0.70, 0.80, 0.95, "pass"),
        (0.95, 1.00, 1.10, "pass"),
        (1.50, 2.00, 2.10, "pass"),
    ],
)
def test_only_an_interval_wholly_below_the_minimum_is_slower(
    low: float, ratio: float, high: float, outcome: str
) -> None:
    check = check_throughput(replace(SPEED, low=low, ratio=ratio, high=high), 0.9, "")
    assert (check.outcome, check.measured, check.allowed) == (outcome, ratio, 0.9)
    assert f"interval {low:.3f} to {high:.3f} over 15 rounds" in check.why
    assert ("slower than torch2.13.0-py311-tiny" in check.why) is (outcome == "fail")


def test_without_a_ratio_the_check_is_left_out_and_says_why() -> None:
    assert check_throughput(None, 0.9, "no baseline") == Check("throughput", "skip", None, 0.9, "no baseline")


@pytest.mark.parametrize(
    ("expected", "wrong"),
    [
        ({"program": "program", "data": "data"}, None),
        ({"program": "other", "data": "data"}, "program"),
        ({"program": "program", "data": "other"}, "data"),
        ({"program": "other", "data": "other"}, "program and data"),
    ],
)
def test_a_cell_must_start_from_what_was_handed_out(expected: dict[str, str], wrong: str | None) -> None:
    check = check_start(tracks(), expected)
    assert (check.measured if check else None) == wrong
    assert check is None or check.outcome == "fail"


def test_rounds_too_few_for_the_confidence_do_not_fail_a_cell() -> None:
    few = replace(SPEED, confidence=0.75, rounds=(0.8,) * 3)
    check = check_throughput(few, 0.9, "")
    assert check.outcome == "skip"
    assert "3 are too few" in check.why


def test_an_envelope_too_wide_to_show_anything_is_said_to_be() -> None:
    reference = find_reference({"torch": track()})
    wide = Envelope(
        {"loss": np.array([0.1, 0.1, 1.0, 1.0]), "grad_norm": np.full(4, 0.1)}, {"weight": 1.0, "bias": 1.0}
    )
    check, _ = check_trajectory(tracks(track()), Standard(reference, wide))
    assert check.outcome == "pass"
    assert "from step 3 on the envelope exceeds 10% of the loss" in check.why

"""The consensus of float64 runs: who forms it, who stands apart, and where first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import NAN, track

from stackproof.matrix.judge.reference import AGREEMENT, distance, find_reference, parameter_distances

# 1 / 1e9 is the double nearest to 1e-9, so a difference of 1 here is a relative difference of exactly that.
BILLION = 1e9


def test_three_that_agree_form_the_reference() -> None:
    found = find_reference({"torch": track(), "jax": track(), "tensorflow": track()})
    assert (found.frameworks, found.apart, found.agrees) == (("jax", "tensorflow", "torch"), {}, True)
    assert found.agreement == 0.0
    assert found.scalars["loss"].tolist() == [4.0, 3.0, 2.0, 1.0]
    assert found.parameters["weight"].tolist() == [3.0, 4.0]
    assert found.why == "jax, tensorflow, torch agree in float64"


def test_the_reference_is_the_median_of_three_at_each_element() -> None:
    shifts = {
        "torch": (0.0, 2e-12, 0.0, 1e-12),
        "jax": (1e-12, 0.0, 0.0, 0.0),
        "tensorflow": (2e-12, 1e-12, 0.0, 2e-12),
    }
    votes = {name: track(np.array([4.0, 3.0, 2.0, 1.0]) + shift) for name, shift in shifts.items()}
    found = find_reference(votes)
    assert found.agrees
    expected = np.add((4.0, 3.0, 2.0, 1.0), (1e-12, 1e-12, 0.0, 1e-12))
    assert found.scalars["loss"].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"losses": (4.0, 3.0, 2.0002, 1.1)}, "loss at step 3 (1.0e-04 relative)"),
        ({"grad_norms": (8.0, 6.6, 4.0, 2.0)}, "grad_norm at step 2 (1.0e-01 relative)"),
        # Within a step the loss is looked at first; an earlier step goes before a larger difference.
        ({"losses": (4.0, 3.3, 2.0, 1.0), "grad_norms": (8.0, 6.6, 4.0, 2.0)}, "loss at step 2 (1.0e-01 relative)"),
        (
            {"losses": (4.0, 3.0, 9.0, 1.0), "grad_norms": (8.0, 6.6, 4.0, 2.0)},
            "grad_norm at step 2 (1.0e-01 relative)",
        ),
        ({"weight": (3.0, 9.0), "bias": (0.0,)}, "final parameter weight (1.0e+00 relative)"),
        ({"losses": (4.0, NAN, 2.0, 1.0)}, "loss at step 2 (not a finite number)"),
        ({"weight": (3.0, NAN), "bias": (0.0,)}, "final parameter weight (not a finite number)"),
    ],
)
@pytest.mark.parametrize("name", ["torch", "jax", "tensorflow"])
def test_one_of_three_stands_apart_and_is_named(name: str, changed: dict[str, tuple[float, ...]], where: str) -> None:
    votes = {other: track() for other in ("torch", "jax", "tensorflow")}
    found = find_reference({**votes, name: track(**changed)})
    assert found.agrees
    assert found.frameworks == tuple(sorted(set(votes) - {name}))
    assert found.apart == {name: where}
    assert found.scalars["loss"].tolist() == [4.0, 3.0, 2.0, 1.0]
    assert found.parameters["weight"].tolist() == [3.0, 4.0]
    assert found.why == f"{name} stands apart, first in {where}"


@pytest.mark.parametrize("reverse", [False, True])
def test_two_that_differ_name_the_place_where_either_departs_first(*, reverse: bool) -> None:
    """The smaller of two votes is the reference at each place, so that one alone may seem to depart later."""
    votes = {"torch": track((4.0, 3.0, 2.0, 1.1)), "jax": track((4.0, 3.3, 2.0, 1.0))}
    found = find_reference(dict(reversed(votes.items())) if reverse else votes)
    assert "jax and torch disagree in float64, first in loss at step 2 (1.0e-01 relative)" in found.why


def test_two_of_three_without_a_number_leave_no_consensus() -> None:
    lost = track((4.0, NAN, 2.0, 1.0))
    found = find_reference({"torch": track(), "jax": lost, "tensorflow": lost})
    assert not found.agrees
    assert set(found.apart) == {"torch", "jax", "tensorflow"}
    assert "disagree in float64, first in loss at step 2" in found.why


def test_three_that_all_differ_leave_no_consensus() -> None:
    votes = {"torch": track((1.0, 1.0, 1.0, 1.0)), "jax": track((2.0,) * 4), "tensorflow": track((3.0,) * 4)}
    found = find_reference(votes)
    assert (found.agrees, found.frameworks) == (False, ())
    assert np.isnan(found.agreement)
    assert "nothing says which one is right" in found.why
    assert "jax and tensorflow and torch disagree" in found.why


def test_two_that_disagree_are_both_left_without_a_reference() -> None:
    found = find_reference({"torch": track(), "jax": track((4.0, 3.0, 2.5, 1.0))})
    assert (found.agrees, set(found.apart)) == (False, {"torch", "jax"})
    assert found.why == (
        "jax and torch disagree in float64, first in loss at step 3 (2.5e-01 relative); nothing says which one is right"
    )


@pytest.mark.parametrize("names", [("torch", "jax"), ("jax", "torch")])
@pytest.mark.parametrize(("off", "agrees"), [(1.0, True), (1.5, False), (-0.9, True), (-1.5, False)])
def test_of_two_the_whole_difference_counts(names: tuple[str, str], off: float, *, agrees: bool) -> None:
    first, second = track((BILLION,) * 4), track((BILLION, BILLION + off, BILLION, BILLION))
    assert find_reference(dict(zip(names, (first, second), strict=True))).agrees is agrees


@pytest.mark.parametrize(("off", "apart"), [(1.0, set()), (1.0 + 1e-6, {"jax"})])
def test_agreement_includes_its_own_limit(off: float, apart: set[str]) -> None:
    votes = {"torch": track((BILLION,) * 4), "tensorflow": track((BILLION,) * 4)}
    found = find_reference({**votes, "jax": track((BILLION, BILLION, BILLION + off, BILLION))})
    assert set(found.apart) == apart
    assert AGREEMENT == 1e-9


def test_the_agreement_is_the_largest_distance_of_those_who_agree() -> None:
    off = {"torch": 0.0, "tensorflow": 0.25, "jax": 0.75}
    found = find_reference({name: track((BILLION, BILLION, BILLION + value, BILLION)) for name, value in off.items()})
    assert found.frameworks == ("jax", "tensorflow", "torch")
    assert found.agreement == pytest.approx(0.5e-9, rel=1e-6)


def test_what_lies_at_the_limit_is_not_where_a_run_first_stands_apart() -> None:
    first = track((BILLION,) * 4, weight=(BILLION,), bias=(0.0,))
    steps = track((BILLION, BILLION + 1.0, BILLION + 9.0, BILLION), weight=(BILLION,), bias=(0.0,))
    assert distance(steps, first.scalars, first.parameters).first.startswith("loss at step 3")
    tensors = track((BILLION,) * 4, weight=(BILLION + 1.0,), bias=(9.0,))
    assert distance(tensors, first.scalars, first.parameters).first.startswith("final parameter bias")


def test_one_framework_alone_is_its_own_reference() -> None:
    found = find_reference({"jax": track()})
    assert (found.frameworks, found.agrees, found.agreement) == (("jax",), True, 0.0)
    assert found.why == "jax alone: no second framework to agree with"


def test_one_framework_that_diverges_is_no_reference() -> None:
    found = find_reference({"jax": track((4.0, 3.0, NAN, NAN))})
    assert not found.agrees
    assert found.why == "jax alone, and it made no reference: first in loss at step 3 (not a finite number)"


def test_a_loss_of_zero_is_equal_only_to_zero() -> None:
    zeros = track((0.0,) * 4)
    assert find_reference({"torch": zeros, "jax": track((0.0,) * 4)}).agrees
    away = distance(track((0.0, 1e-300, 0.0, 0.0)), zeros.scalars, zeros.parameters)
    assert away.largest == np.inf
    assert away.first.startswith("loss at step 2")


def test_a_tensors_distance_is_relative_to_its_norm() -> None:
    found = parameter_distances({"weight": np.array([3.0, 4.5])}, {"weight": np.array([3.0, 4.0])})
    assert found["weight"] == pytest.approx(0.1, rel=1e-14)


def test_a_small_tensors_distance_is_relative_to_what_its_size_has_on_average() -> None:
    # 96 elements of 1 and four of 1e-8: an average element is sqrt(96 / 100), and four of them have twice that norm.
    reference = {"weight": np.ones(96), "bias": np.full(4, 1e-8)}
    found = parameter_distances({"weight": np.ones(96), "bias": np.full(4, 2e-8)}, reference)
    assert found == {"weight": 0.0, "bias": pytest.approx(2e-8 / (2.0 * np.sqrt(0.96)), rel=1e-6)}


def test_tensors_that_are_all_zero_differ_by_their_norm() -> None:
    assert parameter_distances({"a": np.zeros(2)}, {"a": np.zeros(2)}) == {"a": 0.0}
    assert parameter_distances({"a": np.array([3.0, 4.0])}, {"a": np.zeros(2)}) == {"a": 5.0}


@given(st.permutations(["torch", "jax", "tensorflow"]), st.integers(0, 3), st.floats(1e-8, 1e3))
def test_who_stands_apart_does_not_depend_on_the_order_of_votes(names: list[str], step: int, off: float) -> None:
    losses = [4.0, 3.0, 2.0, 1.0]
    losses[step] *= 1.0 + off
    votes = {name: track(losses) if name == "jax" else track() for name in names}
    assert set(find_reference(votes).apart) == {"jax"}


def test_a_spec_that_diverges_everywhere_is_named_as_the_cause() -> None:
    lost = track((4.0, 3.0, NAN, NAN))
    found = find_reference({"jax": lost, "torch": lost})
    assert not found.agrees
    assert found.why.startswith("the spec itself diverges: every float64 run has no finite loss at step 3")

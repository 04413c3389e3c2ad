"""The envelope: how wide measured noise makes it, and where a run leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import NAN, track, tracks

from stackproof.matrix.judge.envelope import SAFETY, Envelope, find_departure, measure_envelope
from stackproof.matrix.judge.reference import find_reference

if TYPE_CHECKING:
    from stackproof.matrix.judge.evidence import Tracks

REFERENCE = find_reference({"torch": track(), "jax": track(), "tensorflow": track()})
# Half a unit in the last place of float32, and how many of those a recorded number may be off by.
FLOOR = 4.0 * 2.0**-24


def losses_off(*off: float) -> tuple[float, ...]:
    return tuple(float(value) for value in np.array([4.0, 3.0, 2.0, 1.0]) + off)


def allowed(*cells: Tracks, precision: str = "float32") -> Envelope:
    return measure_envelope(REFERENCE, cells, precision)


def test_without_noise_only_the_recorded_numbers_own_rounding_is_allowed() -> None:
    found = allowed(tracks())
    assert found.scalars["loss"] == pytest.approx(FLOOR * np.array([4.0, 3.0, 2.0, 1.0]), rel=1e-14)
    assert found.scalars["grad_norm"] == pytest.approx(FLOOR * np.array([8.0, 6.0, 4.0, 2.0]), rel=1e-14)
    assert found.parameters["weight"] == pytest.approx(FLOOR * 5.0, rel=1e-14)
    # The bias is zero; a tensor of its size has on average sqrt(25 / 3).
    assert found.parameters["bias"] == pytest.approx(FLOOR * np.sqrt(25 / 3), rel=1e-14)


def test_the_spread_of_noise_is_allowed_so_many_times() -> None:
    found = allowed(tracks(noise=[track(losses_off(0.25, -0.5, 0.5, 1.0))]))
    expected = SAFETY * np.array([0.25, 0.5, 0.5, 1.0]) + FLOOR * np.array([4.0, 3.0, 2.0, 1.0])
    assert found.scalars["loss"] == pytest.approx(expected, rel=1e-14)
    assert found.scalars["grad_norm"] == pytest.approx(FLOOR * np.array([8.0, 6.0, 4.0, 2.0]), rel=1e-14)


def test_what_was_once_allowed_stays_allowed_at_later_steps() -> None:
    found = allowed(tracks(noise=[track(losses_off(0.0, 0.5, 0.25, 0.0))]))
    assert found.scalars["loss"] / SAFETY == pytest.approx([0.0, 0.5, 0.5, 0.5], abs=1e-6)


def test_the_largest_of_all_noise_runs_counts() -> None:
    one, two = track(losses_off(0.5, 0.0, 0.0, 0.0)), track(losses_off(0.0, -0.75, 0.0, 2.0))
    for cells in ([tracks(noise=[one, two])], [tracks(noise=[one]), tracks(noise=[two], framework="jax")]):
        found = allowed(*cells)
        assert found.scalars["loss"] / SAFETY == pytest.approx([0.5, 0.75, 0.75, 2.0], abs=1e-6)


def test_the_spread_of_parameters_is_the_norm_of_the_difference() -> None:
    noisy = track(weight=(3.0 + 0.3, 4.0 - 0.4), bias=(0.125,))
    found = allowed(tracks(noise=[noisy, track()]))
    assert found.parameters["weight"] == pytest.approx(SAFETY * 0.5 + FLOOR * 5.0, rel=1e-12)
    assert found.parameters["bias"] == pytest.approx(SAFETY * 0.125 + FLOOR * np.sqrt(25 / 3), rel=1e-12)


def test_a_small_tensor_is_allowed_what_its_size_has_on_average() -> None:
    reference = find_reference({"torch": track(weight=(1.0,) * 96, bias=(0.0,) * 4)})
    found = measure_envelope(reference, [], "float32")
    assert found.parameters["bias"] == pytest.approx(FLOOR * 2.0 * np.sqrt(0.96), rel=1e-12)
    assert found.parameters["weight"] == pytest.approx(FLOOR * np.sqrt(96.0), rel=1e-12)


def test_noise_is_held_against_its_own_frameworks_reference() -> None:
    own = track(losses_off(5e-10, 5e-10, 5e-10, 5e-10))
    found = allowed(tracks(reference=own, noise=[own]))
    assert found.scalars["loss"] == pytest.approx(FLOOR * np.array([4.0, 3.0, 2.0, 1.0]), rel=1e-14)


def test_a_framework_outside_the_consensus_does_not_widen_it() -> None:
    wrong = track((9.0, 9.0, 9.0, 9.0))
    reference = find_reference({"torch": track(), "jax": track(), "tensorflow": wrong})
    noisy = tracks(noise=[track((99.0,) * 4)], framework="tensorflow", reference=wrong)
    assert measure_envelope(reference, [tracks(), noisy], "float32").scalars["loss"] == pytest.approx(
        FLOOR * np.array([4.0, 3.0, 2.0, 1.0]), rel=1e-14
    )
    inside = tracks(noise=[track((99.0,) * 4)], framework="jax")
    assert measure_envelope(reference, [inside], "float32").scalars["loss"][0] > 90.0


@pytest.mark.parametrize("astray", [NAN, 9.0])
def test_a_cell_outside_the_consensus_does_not_widen_or_void_it(astray: float) -> None:
    wrong = track((4.0, 3.0, astray, astray))
    broken = tracks(noise=[wrong, track((99.0,) * 4)], reference=wrong)
    found = allowed(tracks(), broken)
    assert found.scalars["loss"] == pytest.approx(FLOOR * np.array([4.0, 3.0, 2.0, 1.0]), rel=1e-14)
    assert found.parameters["weight"] == pytest.approx(FLOOR * 5.0, rel=1e-14)


def test_float64_runs_are_allowed_the_agreement_and_no_noise() -> None:
    found = allowed(tracks(noise=[track((99.0,) * 4)]), precision="float64")
    assert found.scalars["loss"] == pytest.approx(1e-9 * np.array([4.0, 3.0, 2.0, 1.0]), rel=1e-14)
    assert found.parameters["weight"] == pytest.approx(1e-9 * 5.0, rel=1e-14)


NARROW = Envelope(
    {"loss": np.array([0.5, 0.5, 0.5, 0.5]), "grad_norm": np.array([1.0, 1.0, 1.0, 1.0])}, {"weight": 0.5, "bias": 0.5}
)


@pytest.mark.parametrize(
    ("changed", "where", "excess"),
    [
        ({"losses": losses_off(0.0, 0.0, 0.75, 0.0)}, "loss at step 3 (off by 7.50e-01, allowed 5.00e-01)", 1.5),
        ({"grad_norms": (8.0, 9.0, 4.0, 2.0)}, "grad_norm at step 2 (off by 3.00e+00, allowed 1.00e+00)", 3.0),
        # Within a step the loss goes first, and the first step goes before the largest excess.
        (
            {"losses": losses_off(0.0, 0.75, 0.0, 0.0), "grad_norms": (8.0, 36.0, 4.0, 2.0)},
            "loss at step 2 (off by 7.50e-01, allowed 5.00e-01)",
            30.0,
        ),
        (
            {"losses": losses_off(0.0, 0.0, 0.0, -50.0), "grad_norms": (8.0, 6.0, 5.5, 2.0)},
            "grad_norm at step 3 (off by 1.50e+00, allowed 1.00e+00)",
            100.0,
        ),
        (
            {"weight": (3.0, 6.0), "bias": (0.0,)},
            "final parameter weight (off by 2.00e+00, allowed 5.00e-01)",
            4.0,
        ),
        ({"weight": (3.0, 4.0), "bias": (1.0,)}, "final parameter bias (off by 1.00e+00, allowed 5.00e-01)", 2.0),
        ({"losses": losses_off(0.0, 0.0, NAN, 0.0)}, "loss at step 3 (off by nan, allowed 5.00e-01)", np.inf),
        ({"weight": (NAN, 4.0), "bias": (0.0,)}, "final parameter weight (off by nan, allowed 5.00e-01)", np.inf),
    ],
)
def test_a_departure_names_the_first_step_and_quantity(
    changed: dict[str, tuple[float, ...]], where: str, excess: float
) -> None:
    found = find_departure(track(**changed), REFERENCE, NARROW)
    assert (found.outside, found.where, found.excess) == (True, where, pytest.approx(excess))


def test_a_run_at_its_limit_is_within() -> None:
    found = find_departure(track(losses_off(0.0, 0.5, 0.25, 0.0)), REFERENCE, NARROW)
    assert (found.outside, found.excess) == (False, 1.0)
    assert found.where.startswith("loss at step 2")


def test_the_reference_itself_has_no_excess() -> None:
    found = find_departure(track(), REFERENCE, NARROW)
    assert (found.outside, found.excess, found.where) == (False, 0.0, "")


def test_where_nothing_is_allowed_only_equality_is_within() -> None:
    none = Envelope({"loss": np.zeros(4), "grad_norm": np.zeros(4)}, {"weight": 0.0, "bias": 0.0})
    equal = find_departure(track(), REFERENCE, none)
    assert (equal.outside, equal.excess) == (False, 0.0)
    found = find_departure(track(losses_off(0.0, 1e-300, 0.0, 0.0)), REFERENCE, none)
    assert not found.outside  # 3 + 1e-300 is 3
    found = find_departure(track(losses_off(0.0, 1e-15, 0.0, 0.0)), REFERENCE, none)
    assert (found.outside, found.excess) == (True, np.inf)


def test_noise_that_diverges_allows_nothing() -> None:
    wide = allowed(tracks(noise=[track(losses_off(0.0, 0.0, NAN, NAN))]))
    found = find_departure(track(losses_off(0.0, 0.0, 0.0, 0.5)), REFERENCE, wide)
    assert (found.outside, found.excess) == (True, np.inf)
    assert found.where.startswith("loss at step 3")


@given(st.integers(0, 3), st.floats(1.001, 1e6))
def test_any_step_outside_is_found_with_its_excess(step: int, excess: float) -> None:
    off = [0.0] * 4
    off[step] = 0.5 * excess
    found = find_departure(track(losses_off(*off)), REFERENCE, NARROW)
    assert found.outside
    assert found.excess == pytest.approx(excess, rel=1e-6)
    assert found.where.startswith(f"loss at step {step + 1} ")

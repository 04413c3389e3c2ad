"""Learning rates against values worked out by hand and against the papers' formulas."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.backends.schedule import rates, share
from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train

HALF = math.sqrt(0.5)
STEPS = st.integers(1, 60)


def shares(steps: int, **schedule: object) -> list[float]:
    return [share(Schedule(**schedule), step, steps) for step in range(steps)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "schedule", "expected"),
    [
        (3, {"kind": "constant"}, [1.0, 1.0, 1.0]),
        # A warm-up of 3 rises by quarters, and the fourth step is the first at the full rate.
        (6, {"kind": "constant", "warmup": 3}, [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]),
        (5, {"kind": "linear"}, [1.0, 0.75, 0.5, 0.25, 0.0]),
        (5, {"kind": "linear", "final": 0.5}, [1.0, 0.875, 0.75, 0.625, 0.5]),
        (6, {"kind": "linear", "warmup": 1}, [0.5, 1.0, 0.75, 0.5, 0.25, 0.0]),
        # Half a cosine: (1 + cos(0, 45, 90, 135, 180 degrees)) / 2.
        (5, {"kind": "cosine"}, [1.0, (1 + HALF) / 2, 0.5, (1 - HALF) / 2, 0.0]),
        (3, {"kind": "cosine", "final": 0.2}, [1.0, 0.6, 0.2]),
        (5, {"kind": "cosine", "warmup": 2, "final": 0.1}, [1 / 3, 2 / 3, 1.0, 0.55, 0.1]),
        # One step alone is a first step.
        (1, {"kind": "cosine"}, [1.0]),
        (1, {"kind": "linear", "final": 0.5}, [1.0]),
        (3, {"kind": "linear", "warmup": 2}, [1 / 3, 2 / 3, 1.0]),
    ],
)
def test_shares_are_those_worked_out_by_hand(steps: int, schedule: dict[str, object], expected: list[float]) -> None:
    assert shares(steps, **schedule) == pytest.approx(expected, rel=1e-14, abs=1e-16)


@given(st.sampled_from(["linear", "cosine"]), STEPS, st.floats(0.0, 1.0), st.data())
def test_a_decay_begins_at_the_peak_ends_at_the_final_share_and_never_rises(
    kind: str, steps: int, final: float, data: st.DataObject
) -> None:
    warmup = data.draw(st.integers(0, steps - 1))
    found = shares(steps, kind=kind, warmup=warmup, final=final)
    assert found[warmup] == 1.0
    assert all(left < right for left, right in itertools.pairwise(found[: warmup + 1]))
    assert all(left >= right for left, right in itertools.pairwise(found[warmup:]))
    if warmup < steps - 1:
        assert found[-1] == pytest.approx(final, abs=1e-15)


@given(STEPS, st.floats(0.0, 0.999), st.floats(0.0, 0.9999))
def test_corrections_are_those_of_adam(steps: int, first: float, second: float) -> None:
    # Kingma and Ba, Adam, 2015, algorithm 1: the moments are divided by 1 - beta^t, with t counting from 1.
    spec = Spec("s", Mlp(), Data(), Optimizer(betas=(first, second)), Schedule(), Train(steps=steps))
    found = rates(spec)
    assert (found.dtype, found.shape) == (np.float64, (steps, 3))
    times = np.arange(1, steps + 1)
    assert found[:, 1] == pytest.approx(1.0 - first**times, rel=1e-12)
    assert found[:, 2] == pytest.approx(1.0 - second**times, rel=1e-12)


def test_rates_are_shares_of_the_peak() -> None:
    spec = Spec("s", Mlp(), Data(), Optimizer(lr=0.02), Schedule("linear", warmup=1), Train(steps=6))
    assert rates(spec)[:, 0] == pytest.approx([0.01, 0.02, 0.015, 0.01, 0.005, 0.0], rel=1e-14, abs=1e-18)
    constant = rates(replace(spec, schedule=Schedule()))
    assert constant[:, 0].tolist() == [0.02] * 6

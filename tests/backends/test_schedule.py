"""Learning rates against values worked out by hand and against the papers' formulas."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.backends.schedule import COLUMNS, rates, share
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
        # Half a cosine up from 1/25 in two steps, half a cosine down in four: Smith and Topin, 2018, as PyTorch has it.
        (
            7,
            {"kind": "one-cycle", "warmup": 2},
            [0.04, 0.52, 1.0, (1 + HALF) / 2, 0.5, (1 - HALF) / 2, 0.0],
        ),
        (5, {"kind": "one-cycle", "warmup": 1, "start": 0.5, "final": 0.2}, [0.5, 1.0, 0.8, 0.4, 0.2]),
        (2, {"kind": "one-cycle", "warmup": 1, "start": 0.0}, [0.0, 1.0]),
        # Vaswani et al., 2017, equation 3, with 4 warm-up steps: min(t^-0.5, t * 4^-1.5) * 2 for t = 1, 2, ...
        (8, {"kind": "inverse-square-root", "warmup": 3}, [0.25, 0.5, 0.75, *(2 / t**0.5 for t in range(4, 9))]),
        (4, {"kind": "inverse-square-root"}, [1.0, HALF, 3**-0.5, 0.5]),
        (5, {"kind": "polynomial", "power": 2.0}, [1.0, 0.5625, 0.25, 0.0625, 0.0]),
        (4, {"kind": "polynomial", "power": 0.5, "warmup": 1, "final": 0.5}, [0.5, 1.0, 0.5 + HALF / 2, 0.5]),
        (5, {"kind": "polynomial", "final": 0.5}, [1.0, 0.875, 0.75, 0.625, 0.5]),
        # The last 3 steps fall, the last of them to the final rate.
        (
            8,
            {"kind": "warmup-stable-decay", "warmup": 1, "cooldown": 3, "final": 0.1},
            [0.5, 1.0, 1.0, 1.0, 1.0, 0.7, 0.4, 0.1],
        ),
        (3, {"kind": "warmup-stable-decay", "cooldown": 2}, [1.0, 0.5, 0.0]),
    ],
)
def test_shares_are_those_worked_out_by_hand(steps: int, schedule: dict[str, object], expected: list[float]) -> None:
    assert shares(steps, **schedule) == pytest.approx(expected, rel=1e-14, abs=1e-16)


@given(st.sampled_from(["linear", "cosine", "polynomial"]), STEPS, st.floats(0.0, 1.0), st.data())
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
    assert (found.dtype, found.shape) == (np.float64, (steps, COLUMNS))
    times = np.arange(1, steps + 1)
    assert found[:, 1] == pytest.approx(1.0 - first**times, rel=1e-12)
    assert found[:, 2] == pytest.approx(1.0 - second**times, rel=1e-12)
    assert found[:, 3].tolist() == times.tolist()


def test_the_numbers_of_adafactor_are_those_of_the_paper() -> None:
    # Shazeer and Stern, Adafactor, 2018, algorithm 4: 1 - beta2 is t^-0.8, and the largest relative step 1 / sqrt(t).
    optimizer = Optimizer("adafactor", lr=0.5, decay_rate=0.75)
    found = rates(Spec("s", Mlp(), Data(), optimizer, Schedule(), Train(steps=16)))
    assert found[0].tolist() == [0.5, 1.0, 1.0, 1.0]
    assert found[15].tolist() == [0.5, 0.125, 0.25, 16.0]


def test_rates_are_shares_of_the_peak() -> None:
    spec = Spec("s", Mlp(), Data(), Optimizer(lr=0.02), Schedule("linear", warmup=1), Train(steps=6))
    assert rates(spec)[:, 0] == pytest.approx([0.01, 0.02, 0.015, 0.01, 0.005, 0.0], rel=1e-14, abs=1e-18)
    constant = rates(replace(spec, schedule=Schedule()))
    assert constant[:, 0].tolist() == [0.02] * 6

"""Rounding-sized noise: factors of one unit up or down, drawn once per tensor and run."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from stackproof.backends.noise import EXACT_OPERATORS, FLOAT32_UNIT, Noise


def test_the_unit_is_float32s_largest_relative_rounding_error() -> None:
    assert np.finfo(np.float32).eps / 2 == FLOAT32_UNIT
    worst = np.float64(1.0) + FLOAT32_UNIT
    assert abs(np.float64(np.float32(worst)) - worst) / worst == pytest.approx(FLOAT32_UNIT, rel=1e-6)


@pytest.mark.parametrize("unit", [FLOAT32_UNIT, 1e-3])
def test_factors_are_one_unit_up_or_down(unit: float) -> None:
    found = Noise(0, unit).factors("block0.out", (50, 40))
    assert (found.dtype, found.shape) == (np.float64, (50, 40))
    assert set(found.ravel().tolist()) == {1.0 - unit, 1.0 + unit}
    assert abs(np.mean(found > 1.0) - 0.5) < 4 * 0.5 / np.sqrt(2000)


def test_factors_are_the_same_each_time() -> None:
    assert np.array_equal(Noise(3).factors("loss", (64,)), Noise(3).factors("loss", [64]))


def test_factors_of_a_scalar_are_a_scalar() -> None:
    found = Noise(0).factors("loss", ())
    assert found.shape == ()
    assert abs(float(found) - 1.0) == FLOAT32_UNIT


def test_draws_and_tensors_have_factors_of_their_own() -> None:
    made = {
        Noise(seed).factors(name, (64,)).tobytes() for seed in range(4) for name in ("a", "b", "update/a", "update/b")
    }
    assert len(made) == 16


def test_no_size_changes_nothing() -> None:
    assert (Noise(1, 0.0).factors("a", (10,)) == 1.0).all()


def test_operators_that_round_are_not_called_exact() -> None:
    rounding = {"Add", "Mul", "MatMul", "Gemm", "Softmax", "Exp", "ReduceMean", "Attention", "Gelu", "Conv"}
    assert not rounding & EXACT_OPERATORS


def test_factors_are_the_documented_draws() -> None:
    key = int.from_bytes(hashlib.sha256(b"3/update/head.weight").digest()[:8], "little")
    up = np.random.PCG64(key).random_raw(20) >= 2**63
    assert np.array_equal(Noise(3, 0.125).factors("update/head.weight", (4, 5)).ravel(), np.where(up, 1.125, 0.875))

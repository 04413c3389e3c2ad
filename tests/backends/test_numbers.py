"""What the numeric operators of all targets share: equations, windows, filters, transforms, reductions, draws."""

from __future__ import annotations

import numpy as np
import pytest

from stackproof.backends.casting import bit_cast_type
from stackproof.backends.drawing import drawn
from stackproof.backends.einsums import explicit
from stackproof.backends.errors import UnsupportedError
from stackproof.backends.reducing import Over, extreme_of_nothing, reduction
from stackproof.backends.series import cosines, mel_filters
from stackproof.backends.spectra import frame_length, frames, transform_of


@pytest.mark.parametrize(
    ("equation", "wanted"),
    [
        ("ij, jk", "ij,jk->ik"),
        ("ba", "ba->ab"),
        ("aB", "aB->Ba"),
        ("ii", "ii->"),
        ("...ij,...jk", "...ij,...jk->...ik"),
        (" ij -> ji ", "ij->ji"),
    ],
)
def test_equations_become_explicit(equation: str, wanted: str) -> None:
    assert explicit(equation) == wanted


def test_explicit_equations_mean_the_same_to_numpy() -> None:
    draw = np.random.default_rng(1)
    left, right = draw.random((2, 3, 4)), draw.random((2, 4, 5))
    np.testing.assert_allclose(
        np.einsum(explicit("...bj,...jA"), left, right), np.einsum("...bj,...jA", left, right), rtol=1e-14
    )


def test_windows_are_numpys() -> None:
    np.testing.assert_allclose(cosines(9, (0.5, -0.5), periodic=False), np.hanning(9), atol=1e-15)
    np.testing.assert_allclose(cosines(9, (0.42, -0.5, 0.08), periodic=False), np.blackman(9), atol=1e-15)
    np.testing.assert_allclose(cosines(8, (0.54, -0.46), periodic=True), np.hamming(9)[:8], atol=1e-15)


def test_a_window_of_one_sample_is_a_number() -> None:
    assert np.isfinite(cosines(1, (0.5, -0.5), periodic=False)).all()


def test_filters_rise_and_fall_to_one() -> None:
    filters = mel_filters(8, 256, 8192, 100.0, 4000.0)
    assert filters.shape == (129, 8)
    assert (filters.max(axis=0) == 1.0).all()
    assert (np.diff(filters.argmax(axis=0)) > 0).all()
    assert filters.min() == 0.0


@pytest.mark.parametrize(
    ("shape", "inputs", "attributes", "axis", "length"),
    [
        ((2, 8, 1), (None,), {}, 1, 8),
        ((2, 8, 2), (None, (5,)), {}, 1, 5),
        ((2, 8, 4, 2), (None, None, (1,)), {}, 1, 8),
        ((2, 8, 4, 2), (None, None, (-2,)), {"inverse": 1}, 2, 4),
        ((2, 5, 2), (None,), {"inverse": 1, "onesided": 1}, 1, 8),
    ],
)
def test_transforms(
    shape: tuple[int, ...], inputs: tuple[object, ...], attributes: dict[str, int], axis: int, length: int
) -> None:
    made = transform_of(shape, inputs, attributes)
    assert (made.axis, made.length) == (axis, length)


def test_a_number_of_three_parts_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"\(2, 8, 3\)"):
        transform_of((2, 8, 3), (None,), {})


def test_frames_lie_within_the_signal() -> None:
    assert frames(7, 3, 2).tolist() == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert frame_length((1, 7, 1), (None, (2,), np.zeros(4))) == 4
    assert frame_length((1, 7, 1), (None, (2,), None, (3,))) == 3
    assert frame_length((1, 7, 1), (None, (2,))) == 7


def test_what_a_reduction_runs_over() -> None:
    assert reduction(3, (None, (-1, 0)), {"keepdims": 0}) == Over((2, 0), keep=False)
    assert reduction(3, (None,), {}) == Over((0, 1, 2), keep=True)
    assert reduction(3, (None, ()), {"noop_with_empty_axes": 1}).axes == ()
    assert reduction(3, (None,), {"axes": (1,)}).axes == (1,)


def test_what_a_reduction_makes() -> None:
    over = Over((1,), keep=True)
    assert (over.shape((2, 3, 4)), over.count((2, 3, 4))) == ((2, 1, 4), 3)
    assert Over((0, 2), keep=False).shape((2, 3, 4)) == (3,)


@pytest.mark.parametrize(
    ("dtype", "largest", "wanted"),
    [("float32", True, -np.inf), ("int8", True, -128), ("uint16", False, 65535), ("bool", True, False)],
)
def test_extremes_of_nothing(dtype: str, *, largest: bool, wanted: float) -> None:
    assert extreme_of_nothing(dtype, largest=largest) == wanted


def test_seeds_are_the_bits_of_the_number() -> None:
    assert drawn("RandomNormal", {"seed": 1.0}).seed == 0x3F800000
    assert drawn("RandomNormal", {}).seed is None


def test_dtypes_of_draws() -> None:
    assert drawn("RandomUniformLike", {}, "float16").dtype == "float16"
    assert drawn("RandomUniformLike", {"dtype": 11}, "float16").dtype == "float64"
    assert drawn("Multinomial", {}).dtype == "int32"


def test_ranges_of_draws() -> None:
    made = drawn("RandomUniform", {"low": -1.0, "high": 3.0})
    assert (made.shift, made.scale) == (-1.0, 4.0)


def test_bits_are_read_as_a_dtype_of_their_width() -> None:
    assert bit_cast_type("float32", {"to": 6}, "jax") == "int32"
    with pytest.raises(UnsupportedError, match="BitCast from float32 to float64 has no rule on jax"):
        bit_cast_type("float32", {"to": 11}, "jax")

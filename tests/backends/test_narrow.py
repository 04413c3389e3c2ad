from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from stackproof.backends.narrow import FORMATS, INTEGERS, NARROW_INTEGERS, SCALE_FORMAT, Floats, rounded, wrapped
from stackproof.backends.values import CARRIERS

TYPES = {
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float6e2m3": ml_dtypes.float6_e2m3fn,
    "float6e3m2": ml_dtypes.float6_e3m2fn,
    "float4e2m1": ml_dtypes.float4_e2m1fn,
    "int2": ml_dtypes.int2,
    "uint2": ml_dtypes.uint2,
    "int4": ml_dtypes.int4,
    "uint4": ml_dtypes.uint4,
}


def power(values: np.ndarray) -> np.ndarray:
    return (values.view(np.int32) & 0x7F800000).view(np.float32)


NUMPY = Floats(
    power, np.rint, np.isnan, lambda condition, one, other: np.where(condition, one, other).astype(np.float32)
)


def test_every_carried_dtype_has_a_format() -> None:
    assert {*FORMATS, *NARROW_INTEGERS, SCALE_FORMAT, "bfloat16"} == set(CARRIERS)


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_those_of_ml_dtypes(name: str) -> None:
    form, info = FORMATS[name], ml_dtypes.finfo(TYPES[name])
    assert form.largest == float(info.max)
    assert form.smallest == float(info.smallest_normal)
    assert (form.exponent, form.mantissa) == (info.nexp, info.nmant)


@pytest.mark.parametrize("name", NARROW_INTEGERS)
def test_integers_are_those_of_ml_dtypes(name: str) -> None:
    info = ml_dtypes.iinfo(TYPES[name])
    assert INTEGERS[name] == (info.min, info.max)


@pytest.mark.parametrize("name", FORMATS)
def test_rounds_as_ml_dtypes_does(name: str) -> None:
    largest = np.float32(FORMATS[name].largest)
    draw = np.random.default_rng(3)
    exponents = draw.uniform(-20, np.log2(float(largest)), 20000)
    values = (2.0**exponents * draw.choice([-1, 1], 20000)).astype(np.float32)
    wanted = values.astype(TYPES[name]).astype(np.float32)
    np.testing.assert_array_equal(rounded(values, name, NUMPY, {}), wanted)


@pytest.mark.parametrize(
    ("values", "attributes", "wanted"),
    [
        ([0.0, 1e-45, 2.0**127, np.inf], {}, [2.0**-127, 2.0**-127, 2.0**127, 2.0**127]),
        ([0.0, 2.0**127, np.inf], {"saturate": 0, "round_mode": "nearest"}, [np.nan, 2.0**127, np.nan]),
        ([1.5 * 2.0**127], {"saturate": 0}, [np.nan]),
    ],
)
def test_scales_at_the_ends(values: list[float], attributes: dict[str, object], wanted: list[float]) -> None:
    with np.errstate(over="ignore"):
        made = rounded(np.array(values, np.float32), SCALE_FORMAT, NUMPY, attributes)
    np.testing.assert_array_equal(made, np.array(wanted, np.float32))


@pytest.mark.parametrize("name", NARROW_INTEGERS)
def test_high_bits_are_dropped(name: str) -> None:
    values = np.arange(-100, 100, dtype=np.int32)
    np.testing.assert_array_equal(wrapped(values, name), values.astype(TYPES[name]).astype(np.int32))

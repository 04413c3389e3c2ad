"""The narrow number formats, and rounding to them by arithmetic on what carries them.

The formats are those of ONNX: float8 as in "FP8 Formats for Deep Learning" and its `fnuz` relatives, float6, float4 and
the scale type e8m0 as in the OCP Microscaling specification, and integers of 4 and 2 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from .errors import UnsupportedError


@dataclass(frozen=True)
class Format:
    """A floating-point format with a sign bit.

    Attributes:
        exponent: Bits of the exponent.
        mantissa: Stored bits of the mantissa.
        bias: What the stored exponent exceeds the exponent by.
        largest: The largest finite number.
        infinity: Whether it has infinities.
        nan: Whether it has something that is not a number.
        signed_zero: Whether it has a negative zero.
    """

    exponent: int
    mantissa: int
    bias: int
    largest: float
    infinity: bool = False
    nan: bool = True
    signed_zero: bool = True

    @property
    def smallest(self) -> float:
        """Return the smallest positive number with a full mantissa."""
        return float(2.0 ** (1 - self.bias))


FORMATS = {
    "float8e4m3fn": Format(4, 3, 7, 448.0),
    "float8e4m3fnuz": Format(4, 3, 8, 240.0, signed_zero=False),
    "float8e5m2": Format(5, 2, 15, 57344.0, infinity=True),
    "float8e5m2fnuz": Format(5, 2, 16, 57344.0, signed_zero=False),
    "float6e2m3": Format(2, 3, 1, 7.5, nan=False),
    "float6e3m2": Format(3, 2, 3, 28.0, nan=False),
    "float4e2m1": Format(2, 1, 1, 6.0, nan=False),
}
# Powers of two only, 2**-127 to 2**127, and one code for what is not a number.
SCALE_FORMAT = "float8e8m0"
SCALE_SMALLEST, SCALE_LARGEST = 2.0**-127, 2.0**127
# The least and the greatest number of the integers, narrow and others.
INTEGERS = {
    "int2": (-2, 1),
    "uint2": (0, 3),
    "int4": (-8, 7),
    "uint4": (0, 15),
    "int8": (-(2**7), 2**7 - 1),
    "uint8": (0, 2**8 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
NARROW_INTEGERS = ("int2", "uint2", "int4", "uint4")


@dataclass(frozen=True)
class Floats:
    """What rounding needs of a framework.

    Attributes:
        power: For float32 or float64, the largest power of two that is not above the magnitude; 0 for numbers too small
            to have a full mantissa, infinity for what is not finite.
        rint: Rounds to the nearest whole number, ties to the even one.
        is_nan: Says which elements are not numbers.
        where: Chooses by a condition; one of the two choices may be a Python number.
    """

    power: Callable[[Any], Any]
    rint: Callable[[Any], Any]
    is_nan: Callable[[Any], Any]
    where: Callable[[Any, Any, Any], Any]


def rounded(values: Any, name: str, floats: Floats, attributes: dict[str, Any]) -> Any:
    """Return each value's nearest in a narrow floating-point format, in the dtype that carries it.

    Args:
        values: A float32 or float64 tensor.
        name: A key of `FORMATS`, or `SCALE_FORMAT`.
        floats: The framework's functions.
        attributes: Those of a `Cast` node: `saturate` makes what is too large the largest number, else it is infinite
            or not a number; `round_mode` counts for `SCALE_FORMAT`.

    Raises:
        UnsupportedError: The rounding mode is unknown.
    """
    saturate = bool(attributes.get("saturate", 1))
    if name == SCALE_FORMAT:
        return _scale(values, floats, attributes.get("round_mode", "up"), saturate=saturate)
    return _nearest(values, FORMATS[name], floats, saturate=saturate)


def _nearest(values: Any, form: Format, floats: Floats, *, saturate: bool) -> Any:
    where, most = floats.where, 2.0 * form.largest
    held = where(values > most, most, where(values < -most, -most, values))
    power = floats.power(held)
    quantum = where(power > form.smallest, power, form.smallest) * 2.0**-form.mantissa
    near = floats.rint(held / quantum) * quantum
    if not form.signed_zero:
        near = where(near == 0.0, 0.0, near)
    if not form.nan:
        near = where(floats.is_nan(near), 0.0, near)
    over = form.largest if saturate or not form.nan else float("inf") if form.infinity else float("nan")
    return where(near > form.largest, over, where(near < -form.largest, -over, near))


def _scale(values: Any, floats: Floats, round_mode: str, *, saturate: bool) -> Any:
    where, power = floats.where, floats.power(values)
    low = where(power < SCALE_SMALLEST, SCALE_SMALLEST, power)
    if round_mode == "up":
        up = values > low
    elif round_mode == "nearest":
        up = values >= 1.5 * low
    elif round_mode == "down":
        up = values > float("inf")
    else:
        raise UnsupportedError(f"Cast with round_mode {round_mode!r} is not known; known: up, down, nearest")
    near = where(up, 2.0 * low, low)
    near = where(floats.is_nan(values), float("nan"), near)
    over = SCALE_LARGEST if saturate else float("nan")
    near = where(near > SCALE_LARGEST, over, near)
    return near if saturate else where(values < SCALE_SMALLEST, float("nan"), near)


def wrapped(values: Any, name: str) -> Any:
    """Return integers with only the low bits that a narrow integer has, as that integer reads them.

    Args:
        values: A tensor of a signed integer dtype.
        name: One of `NARROW_INTEGERS`.
    """
    low, high = INTEGERS[name]
    return ((values - low) & (high - low)) + low

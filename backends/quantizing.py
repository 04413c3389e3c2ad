"""Quantisation, the same on every target: numbers on a grid of a scale and a zero point, and products of such numbers.

A gradient goes through a scale and through what is dequantised, and stops where a number is rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .kit import shared
from .narrow import INTEGERS, SCALE_FORMAT
from .nodes import DTYPES, optional
from .values import Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_BYTE = 255.0


def kind_of(kit: Kit, value: Any) -> str:
    """Return the name of a dtype, narrow or not."""
    return value.dtype if isinstance(value, Narrow) else kit.dtype_of(value)


def spread(kit: Kit, value: Any, shape: Sequence[int], attributes: Attributes) -> Any:
    """Return scales or zero points so that they go with the elements that they are for.

    Args:
        kit: The target's functions.
        value: A tensor of one element; of one element per slice along `axis`; or, with `block_size`, of one element for
            so many slices.
        shape: That of what is quantised.
        attributes: The node's.

    Raises:
        UnsupportedError: The shape is none of these.
    """
    carrier = value.values if isinstance(value, Narrow) else value
    if all(size == 1 for size in carrier.shape):
        return kit.shaped(carrier, ())
    axis, block = attributes.get("axis", 1) % len(shape), attributes.get("block_size", 0)
    if block:
        return kit.take(carrier, kit.tensor_of(np.arange(shape[axis]) // block, carrier), axis)
    if len(carrier.shape) != 1 or carrier.shape[0] != shape[axis]:
        raise UnsupportedError(
            f"scales of shape {tuple(carrier.shape)} do not fit a tensor of shape {tuple(shape)}: give one for each "
            f"of the {shape[axis]} slices along axis {axis}, or block_size"
        )
    return kit.shaped(carrier, [shape[axis] if place == axis else 1 for place in range(len(shape))])


@shared("QuantizeLinear")
def _quantize(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    data, scale, zero = inputs[0], inputs[1], optional(inputs, 2)
    stated = DTYPES.get(attributes.get("output_dtype", 0), "uint8")
    name = stated if zero is None else kind_of(kit, zero)
    precision = _division(kit, data, scale, attributes)
    factor = kit.cast(spread(kit, scale, data.shape, attributes), precision)
    shift = None if zero is None else spread(kit, zero, data.shape, attributes)
    return snapped(kit, kit.quotient(kit.cast(data, precision), factor), shift, name, attributes)


def _division(kit: Kit, data: Any, scale: Any, attributes: Attributes) -> str:
    """Return the dtype that is divided in: the stated one, the scale's, or that of the data if the scale has none."""
    if attributes.get("precision", 0):
        return DTYPES[attributes["precision"]]
    names = (kind_of(kit, scale), kind_of(kit, data))
    return next((name for name in names if name in _FLOATS), "float32")


def snapped(kit: Kit, ratio: Any, shift: Any, name: str, attributes: Attributes) -> Any:
    """Return the nearest numbers of a dtype: of integers, ties to the even one, before the zero point is added.

    Args:
        kit: The target's functions.
        ratio: Floating-point numbers in units of the scale.
        shift: Zero points that go with them, or None.
        name: The dtype's name.
        attributes: `saturate` counts for float8.
    """
    wide = ratio if kit.dtype_of(ratio) == "float64" else kit.cast(ratio, "float32")
    if name not in INTEGERS:
        return kit.converted(wide if shift is None else wide + kit.cast(shift, kit.dtype_of(wide)), name, attributes)
    whole = kit.rint(wide)
    if shift is not None:
        whole = whole + kit.cast(shift, kit.dtype_of(wide))
    least, most = (kit.cast(kit.tensor_of(float(bound), wide), kit.dtype_of(wide)) for bound in INTEGERS[name])
    return kit.converted(kit.smaller(kit.larger(whole, least), most), name, attributes)


@shared("DequantizeLinear")
def _dequantize(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    data, scale, zero = inputs[0], inputs[1], optional(inputs, 2)
    made = DTYPES.get(attributes.get("output_dtype", 0), kind_of(kit, scale))
    if made == SCALE_FORMAT:
        raise UnsupportedError(f"DequantizeLinear with a scale of {SCALE_FORMAT} needs the attribute output_dtype")
    wide = "float64" if "float64" in (made, kind_of(kit, scale)) else "float32"
    carrier = data.values if isinstance(data, Narrow) else data
    number = kit.cast(carrier, wide)
    if zero is not None:
        number = number - kit.cast(spread(kit, zero, carrier.shape, attributes), wide)
    return kit.cast(number * kit.cast(spread(kit, scale, carrier.shape, attributes), wide), made)


@shared("DynamicQuantizeLinear")
def _dynamic_quantize(kit: Kit, inputs: Inputs, _attributes: Attributes) -> tuple[Any, Any, Any]:
    """Quantise to uint8 over the range that the data and zero span; a range of nothing has the scale of one."""
    data = inputs[0]
    axes = range(len(data.shape))
    nothing = kit.cast(kit.tensor_of(0.0, data), kit.dtype_of(data))
    high, low = kit.larger(kit.highest(data, axes), nothing), kit.smaller(-kit.highest(-data, axes), nothing)
    span = high - low
    scale = kit.select(span == nothing, nothing + 1.0, span) / _BYTE
    zero = kit.rint(kit.smaller(kit.larger(-low / scale, nothing), nothing + _BYTE))
    snap = snapped(kit, kit.quotient(data, scale), zero, "uint8", {})
    return snap, scale, kit.cast(zero, "uint8")


@shared("MatMulInteger")
def _matmul_integer(kit: Kit, inputs: Inputs, _attributes: Attributes) -> Any:
    left = _centred(kit, inputs[0], optional(inputs, 2), rows=True)
    return kit.matmul(left, _centred(kit, inputs[1], optional(inputs, 3), rows=False))


def _centred(kit: Kit, data: Any, zero: Any, *, rows: bool) -> Any:
    """Return quantised numbers, less their zero points, as int32, or as float32 where they are no integers."""
    carrier = data.values if isinstance(data, Narrow) else data
    wide = "int32" if kind_of(kit, data) in INTEGERS else "float32"
    number = kit.cast(carrier, wide)
    if zero is None:
        return number
    return number - kit.cast(_beside(kit, zero.values if isinstance(zero, Narrow) else zero, rows=rows), wide)


def _beside(kit: Kit, value: Any, *, rows: bool) -> Any:
    """Return one number per row, or per column, as it goes with a matrix."""
    if all(size == 1 for size in value.shape):
        return kit.shaped(value, ())
    return kit.shaped(value, (-1, 1)) if rows and len(value.shape) == 1 else value


@shared("QLinearMatMul")
def _qlinear_matmul(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    left, left_scale, left_zero, right, right_scale, right_zero, scale, zero = inputs
    product = kit.matmul(_centred(kit, left, left_zero, rows=True), _centred(kit, right, right_zero, rows=False))
    factor = _beside(kit, left_scale, rows=True) * _beside(kit, right_scale, rows=False)
    ratio = kit.cast(product, "float32") * kit.cast(factor / _beside(kit, scale, rows=True), "float32")
    name = kind_of(kit, left if zero is None else zero)
    carrier = zero.values if isinstance(zero, Narrow) else zero
    return snapped(kit, ratio, None if zero is None else _beside(kit, carrier, rows=True), name, attributes)

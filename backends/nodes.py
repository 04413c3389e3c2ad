"""What the rules of every target need to know of a node: its optional inputs, static shapes, axes and paddings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The dtype names of ONNX's TensorProto.DataType numbers: numpy's, or keys of `values.CARRIERS`.
DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2",
    26: "int2",
    27: "float6e2m3",
    28: "float6e3m2",
}


def optional(inputs: Sequence[Any], place: int) -> Any:
    """Return the input at a place, or None where it is absent."""
    return inputs[place] if len(inputs) > place else None


def cast_type(attributes: Mapping[str, Any], target: str) -> str:
    """Return the name of the dtype that a `Cast` node converts to.

    Raises:
        UnsupportedError: The type is not a plain number of 8 bits or more.
    """
    number = attributes["to"]
    if number not in DTYPES:
        raise UnsupportedError(f"Cast to ONNX data type {number} has no rule on {target}; known: {sorted(DTYPES)}")
    return DTYPES[number]


def refuse(op: str, target: str, attributes: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse a node that sets one of these attributes to anything but zero.

    Raises:
        UnsupportedError: It does; the message names the attribute.
    """
    found = [name for name in names if attributes.get(name)]
    if found:
        raise UnsupportedError(f"{op} with {', '.join(found)} has no rule on {target}")


def reshaped(shape: Sequence[int], attributes: Mapping[str, Any], wanted: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that a `Reshape` node makes: 0 copies a size unless `allowzero` is set; -1 may remain."""
    sizes = [int(size) for size in wanted]
    if attributes.get("allowzero", 0):
        return tuple(sizes)
    return tuple(shape[place] if size == 0 else size for place, size in enumerate(sizes))


def flattened(shape: Sequence[int], attributes: Mapping[str, Any]) -> tuple[int, int]:
    """Return the two sizes that a `Flatten` node makes."""
    axis = attributes.get("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return math.prod(shape[:axis]), math.prod(shape[axis:])


def split_sizes(length: int, attributes: Mapping[str, Any], given: Sequence[int] | None) -> list[int]:
    """Return the sizes that a `Split` node cuts an axis of that length into; a last uneven part is smaller.

    Without sizes and `num_outputs`, as was possible before operator set 18, there are as many parts as outputs.

    Raises:
        UnsupportedError: Nothing says how many parts there are.
    """
    if given is not None:
        return [int(size) for size in given]
    parts = attributes.get("num_outputs") or len(attributes.get("outputs", ()))
    if not parts:
        raise UnsupportedError("Split needs its sizes or num_outputs: convert the model to operator set 18 or later")
    size = math.ceil(length / parts)
    return [min(size, max(0, length - size * part)) for part in range(parts)]


def reduced_axes(rank: int, attributes: Mapping[str, Any], given: Sequence[int] | None) -> tuple[int, ...]:
    """Return the axes that a reducing node runs over, counted from 0; empty for a node that does nothing."""
    if given is not None and len(given):
        return tuple(int(axis) % rank for axis in given)
    return () if attributes.get("noop_with_empty_axes", 0) else tuple(range(rank))


def normalized_axes(rank: int, attributes: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the axes that a normalisation runs over: from `axis` to the last."""
    return tuple(range(attributes.get("axis", -1) % rank, rank))


def paddings(
    sizes: Sequence[int],
    kernel: Sequence[int],
    attributes: Mapping[str, Any],
) -> tuple[tuple[int, int], ...]:
    """Return the padding of a `Conv` or `MaxPool` node, whichever way it is stated.

    Args:
        sizes: The input's spatial sizes.
        kernel: The window's spatial sizes.
        attributes: The node's.

    Returns:
        For each spatial axis what goes before and after it, in elements; with `ceil_mode`, so much after it that a
        last window, which must begin before the padding does, fits.
    """
    rank = len(sizes)
    strides, dilations = (tuple(attributes.get(name) or (1,) * rank) for name in ("strides", "dilations"))
    spans = tuple((window - 1) * dilation + 1 for window, dilation in zip(kernel, dilations))
    auto = attributes.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        return tuple(_same(size, span, stride, auto) for size, span, stride in zip(sizes, spans, strides))
    given = (0,) * (2 * rank) if auto == "VALID" else attributes.get("pads") or (0,) * (2 * rank)
    pairs = tuple((given[axis], given[axis + rank]) for axis in range(rank))
    if not attributes.get("ceil_mode", 0):
        return pairs
    return tuple(_ceiled(size, span, stride, pair) for size, span, stride, pair in zip(sizes, spans, strides, pairs))


def _same(size: int, span: int, stride: int, auto: str) -> tuple[int, int]:
    total = max(0, (math.ceil(size / stride) - 1) * stride + span - size)
    small = total // 2
    return (small, total - small) if auto == "SAME_UPPER" else (total - small, small)


def _ceiled(size: int, span: int, stride: int, pair: tuple[int, int]) -> tuple[int, int]:
    before, after = pair
    last = math.ceil((size + before + after - span) / stride)
    last -= last * stride >= size + before
    return before, max(after, last * stride + span - size - before)

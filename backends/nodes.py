"""What the rules of every target need to know of a node: its optional inputs, static shapes, axes and paddings."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# The names that numpy (bfloat16: ml_dtypes) has for ONNX's TensorProto.DataType numbers.
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
    16: "bfloat16",
}


def optional(inputs: Sequence[Any], place: int) -> Any:  # noqa: ANN401 - any framework's tensor
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


def refuse_attention(inputs: Sequence[Any], attributes: Mapping[str, Any], dtype: str, target: str) -> None:
    """Refuse what no `Attention` rule for training does.

    Raises:
        UnsupportedError: Scores are capped, there is a key/value cache, or the softmax is to be wider than the tensors.
    """
    refuse("Attention", target, attributes, ("softcap",))
    if any(value is not None for value in inputs[4:]):
        raise UnsupportedError(f"Attention with a key/value cache has no rule on {target}")
    if DTYPES.get(attributes.get("softmax_precision", 0)) == "float64" != dtype:
        raise UnsupportedError(f"Attention with softmax_precision float64 on {target} needs a float64 run")


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

    Raises:
        UnsupportedError: Neither sizes nor their number are given, as was possible before operator set 18.
    """
    if given is not None:
        return [int(size) for size in given]
    if "num_outputs" not in attributes:
        raise UnsupportedError("Split needs its sizes or num_outputs: convert the model to operator set 18 or later")
    parts = attributes["num_outputs"]
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


def window_slices(
    sizes: Sequence[int],
    kernel: Sequence[int],
    attributes: Mapping[str, Any],
) -> Iterator[tuple[slice, ...]]:
    """Return what each place of a window sees: one strided slice of a channels-first tensor per place, in row order.

    Args:
        sizes: Spatial sizes after padding.
        kernel: The window's spatial sizes.
        attributes: The node's; strides and dilations count.
    """
    rank = len(sizes)
    strides, dilations = (tuple(attributes.get(name) or (1,) * rank) for name in ("strides", "dilations"))
    axes = []
    for size, window, stride, dilation in zip(sizes, kernel, strides, dilations):
        last = (size - (window - 1) * dilation - 1) // stride * stride
        axes.append([slice(place * dilation, place * dilation + last + 1, stride) for place in range(window)])
    return ((slice(None), slice(None), *spatial) for spatial in itertools.product(*axes))


def allowed_keys(queries: int, keys: int, attributes: Mapping[str, Any]) -> np.ndarray | None:
    """Return which keys an `Attention` node without a cache lets each query see.

    Args:
        queries: Query positions.
        keys: Key positions.
        attributes: The node's; `is_causal` and the window sizes count.

    Returns:
        bool of shape (queries, keys), or None where every query sees every key.
    """
    behind = np.arange(queries)[:, None] - np.arange(keys)[None, :]
    left, right = (attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    allowed = np.ones((queries, keys), dtype=bool)
    if attributes.get("is_causal", 0):
        allowed &= behind >= 0
    if left >= 0:
        allowed &= behind <= left
    if right >= 0:
        allowed &= -behind <= right
    return None if allowed.all() else allowed

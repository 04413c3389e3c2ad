"""What the rules of every target need to know of shapes and places: numpy only, computed before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .values import Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def counted(axis: int, rank: int) -> int:
    """Return an axis counted from 0."""
    return axis + rank if axis < 0 else axis


def broadcast_shape(shape: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that an `Expand` node makes; both shapes may stretch the other."""
    rank = max(len(shape), len(wanted))
    pairs = zip((*(1,) * (rank - len(shape)), *shape), (*(1,) * (rank - len(wanted)), *wanted))
    return tuple(int(size) if other == 1 else int(other) for size, other in pairs)


def shape_part(shape: Sequence[int], attributes: Mapping[str, Any]) -> tuple[int, ...]:
    """Return what a `Shape` node takes of a shape: from `start` up to `end`, both cut to the rank."""
    rank = len(shape)
    start, end = attributes.get("start", 0), attributes.get("end", rank)
    start, end = (min(max(counted(place, rank), 0), rank) for place in (start, end))
    return tuple(int(size) for size in shape[start:end])


def slice_ranges(shape: Sequence[int], statics: Sequence[Any]) -> list[range]:
    """Return the places that a `Slice` node takes along each axis.

    Args:
        shape: The data's.
        statics: Starts, ends, and where given axes and steps.
    """
    starts, ends, axes, steps = (*statics, None, None)[:4]
    ranges = [range(size) for size in shape]
    for place, axis in enumerate(range(len(starts)) if axes is None else axes):
        length, step = shape[axis], 1 if steps is None else steps[place]
        start, end = counted(starts[place], length), counted(ends[place], length)
        high = length if step > 0 else length - 1
        low = 0 if step > 0 else -1
        ranges[axis] = range(min(max(start, 0), high), min(max(end, low), high), step)
    return ranges


def as_slice(places: range) -> slice:
    """Return a non-negative range as a slice, of the same step."""
    if not places:
        return slice(0, 0)
    return slice(places.start, None if places.step < 0 and places.stop < 0 else places.stop, places.step)


def rising(places: range) -> tuple[slice, bool]:
    """Return a range as a slice with a positive step, and whether what it takes is to be turned round."""
    if places and places.step < 0:
        return slice(places[-1], places[0] + 1, -places.step), True
    return as_slice(places), False


def constant_of(attributes: Mapping[str, Any]) -> np.ndarray | Narrow:
    """Return the value of a `Constant` node.

    Raises:
        UnsupportedError: It holds strings, or a sparse tensor.
    """
    for name, dtype in (("value_int", "int64"), ("value_ints", "int64"), ("value_float", "f4"), ("value_floats", "f4")):
        if name in attributes:
            return np.array(attributes[name], dtype)
    if "value" not in attributes:
        kinds = ", ".join(sorted(set(attributes) - {"outputs"}))
        raise UnsupportedError(f"Constant with {kinds} has no rule: a tensor holds numbers, all of them")
    value: np.ndarray | Narrow = attributes["value"]
    return value


def fill_value(attributes: Mapping[str, Any]) -> np.ndarray | Narrow:
    """Return the single element, of shape (), that a `ConstantOfShape` node repeats."""
    value = attributes.get("value", np.zeros(1, np.float32))
    if isinstance(value, Narrow):
        return Narrow(value.values.reshape(()), value.dtype)
    return np.asarray(value).reshape(())

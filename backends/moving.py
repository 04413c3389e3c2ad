"""Shared rules that move values: padding and cropping, blocks and depth, masks, reversed and scattered sequences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .indexing import counted
from .kit import shared
from .nodes import DTYPES, optional
from .values import CARRIERS, Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]
    Sizes = tuple[int, ...]


@shared("Trilu", moves=True)
def trilu(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Keep the upper or the lower triangle of each matrix."""
    data, diagonal = inputs[0], int((optional(inputs, 1) or (0,))[0])
    rows, columns = (int(size) for size in data.shape[-2:])
    kept = kit.table(_triangle, rows, columns, diagonal, attributes.get("upper", 1), beside=data)
    return kit.select(kept, data, kit.number(0, data))


def _triangle(rows: int, columns: int, diagonal: int, upper: bool) -> np.ndarray:
    distance = np.arange(columns)[None, :] - np.arange(rows)[:, None] - diagonal
    return distance >= 0 if upper else distance <= 0


@shared("EyeLike")
def eye_like(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Return a matrix with ones on a diagonal, of the shape of another."""
    like = inputs[0].values if isinstance(inputs[0], Narrow) else inputs[0]
    given = inputs[0].dtype if isinstance(inputs[0], Narrow) else kit.dtype_of(like)
    dtype = DTYPES[attributes["dtype"]] if "dtype" in attributes else given
    shape = (int(size) for size in like.shape)
    ones = kit.table(_eye, *shape, attributes.get("k", 0), CARRIERS.get(dtype, dtype), beside=like)
    return kit.tensor_of(Narrow(ones, dtype), like) if dtype in CARRIERS else ones


def _eye(rows: int, columns: int, diagonal: int, dtype: str) -> np.ndarray:
    return np.eye(rows, columns, diagonal, dtype)


@shared("DepthToSpace", moves=True)
def depth_to_space(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Spread channels over blocks of pixels."""
    data, block = inputs[0], attributes["blocksize"]
    batch, channels, height, width = (int(size) for size in data.shape)
    depth = channels // block**2
    if attributes.get("mode", "DCR") == "DCR":
        parts, order = (batch, block, block, depth, height, width), (0, 3, 4, 1, 5, 2)
    else:
        parts, order = (batch, depth, block, block, height, width), (0, 1, 4, 2, 5, 3)
    mixed = kit.turned(kit.shaped(data, parts), order)
    return kit.shaped(mixed, (batch, depth, height * block, width * block))


@shared("SpaceToDepth", moves=True)
def space_to_depth(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Gather blocks of pixels into channels."""
    data, block = inputs[0], attributes["blocksize"]
    batch, depth, height, width = (int(size) for size in data.shape)
    parts = (batch, depth, height // block, block, width // block, block)
    order = (0, 3, 5, 1, 2, 4) if attributes.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    mixed = kit.turned(kit.shaped(data, parts), order)
    return kit.shaped(mixed, (batch, depth * block**2, height // block, width // block))


@shared("Pad", moves=True)
def pad(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Add to both ends of axes, or cut from them where a size is negative."""
    data, mode = inputs[0], attributes.get("mode", "constant")
    rank = len(data.shape)
    pairs = _pad_pairs(rank, inputs[1], optional(inputs, 3))
    data = data[tuple(slice(max(0, -low), _end(high)) for low, high in pairs)] if rank else data
    pairs = [(max(0, low), max(0, high)) for low, high in pairs]
    if mode == "constant":
        return _filled(kit, data, pairs, optional(inputs, 2))
    for axis, pair in enumerate(pairs):
        if any(pair):
            places = kit.table(_padded_places, int(data.shape[axis]), pair, mode, beside=data)
            data = kit.take(data, places, axis)
    return data


def _pad_pairs(rank: int, pads: Sequence[int], axes: Sequence[int] | None) -> list[tuple[int, int]]:
    pairs = [(0, 0)] * rank
    for place, axis in enumerate(range(rank) if axes is None else axes):
        pairs[counted(int(axis), rank)] = (int(pads[place]), int(pads[place + len(pads) // 2]))
    return pairs


def _padded_places(size: int, pair: tuple[int, int], mode: str) -> np.ndarray:
    return np.pad(np.arange(size), pair, mode=mode)  # type: ignore[call-overload] # its modes are literals


def _inside(shape: tuple[int, ...], pairs: tuple[tuple[int, int], ...]) -> np.ndarray:
    return np.pad(np.ones(shape, bool), pairs)


def _end(high: int) -> int | None:
    return high if high < 0 else None


def _filled(kit: Kit, data: Any, pairs: Sequence[tuple[int, int]], value: Any) -> Any:
    if not any(before or after for before, after in pairs):
        return data
    padded = kit.padded(data, pairs)
    if value is None:
        return padded
    inside = kit.table(_inside, tuple(int(size) for size in data.shape), tuple(pairs), beside=data)
    return kit.select(inside, padded, kit.shaped(value, ()))


@shared("CenterCropPad", moves=True)
def center_crop_pad(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Cut or pad axes to sizes, alike on both sides; what is odd goes to the end."""
    data, rank = inputs[0], len(inputs[0].shape)
    pairs, cuts = [(0, 0)] * rank, [slice(None)] * rank
    for axis, wanted in zip(attributes.get("axes") or range(rank), inputs[1]):
        place = counted(axis, rank)
        more = int(wanted) - int(data.shape[place])
        if more > 0:
            pairs[place] = (more // 2, more - more // 2)
        else:
            cuts[place] = slice(-more // 2, -more // 2 + int(wanted))
    return _filled(kit, data[tuple(cuts)], pairs, None)


@shared("Col2Im")
def col2im(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Add up blocks at their places in an image of any number of spatial axes."""
    data, image, block = inputs[0], inputs[1], inputs[2]
    rank = len(image)
    pads = attributes.get("pads") or (0,) * (2 * rank)
    whole = [size + pads[axis] + pads[axis + rank] for axis, size in enumerate(image)]
    batch, rows, columns = (int(size) for size in data.shape)
    spaced = (tuple(attributes.get(name) or (1,) * rank) for name in ("strides", "dilations"))
    places = kit.table(_block_places, tuple(whole), tuple(block), *spaced, beside=data)
    channels = rows // math.prod(block)
    sums = kit.gathered_sums(kit.shaped(data, (batch, channels, columns * math.prod(block))), places, math.prod(whole))
    cuts = [slice(pads[axis], pads[axis] + size) for axis, size in enumerate(image)]
    return kit.shaped(sums, (batch, channels, *whole))[(slice(None), slice(None), *cuts)]


def _block_places(whole: Sizes, block: Sizes, strides: Sizes, dilations: Sizes) -> np.ndarray:
    """Return the flat place in the padded image of each element of each block, blocks last."""
    rank = len(whole)
    total, shape = np.zeros((1,) * (2 * rank), np.int64), list(whole)
    for axis in range(rank):
        inside = np.arange(block[axis]) * dilations[axis]
        starts = np.arange(0, shape[axis] - inside[-1], strides[axis])
        both = (inside[:, None] + starts[None, :]) * math.prod(shape[axis + 1 :])
        view = [1] * (2 * rank)
        view[axis], view[rank + axis] = both.shape
        total = total + both.reshape(view)
    return total.reshape(-1)


@shared("ReverseSequence", moves=True)
def reverse_sequence(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Reverse the first elements of each sequence of a batch."""
    data, lengths = inputs
    order = _batch_first(len(data.shape), attributes.get("batch_axis", 1), attributes.get("time_axis", 0))
    first = kit.turned(data, order)
    batch, time = (int(size) for size in first.shape[:2])
    steps = kit.shaped(kit.steps(time, data), (1, time))
    ends = kit.shaped(kit.cast(lengths, "int64"), (batch, 1))
    places = kit.select(steps < ends, ends - 1 - steps, steps)
    return kit.turned(_rows(kit, first, places), _inverse(order))


def _batch_first(rank: int, batch: int, time: int) -> list[int]:
    return [batch, time, *(axis for axis in range(rank) if axis not in (batch, time))]


def _inverse(order: Sequence[int]) -> list[int]:
    return [list(order).index(axis) for axis in range(len(order))]


def _rows(kit: Kit, data: Any, places: Any) -> Any:
    """Return `data[b, places[b, i]]` for data of shape (batch, time, ...) and places of shape (batch, n)."""
    batch, time, *rest = (int(size) for size in data.shape)
    starts = kit.shaped(kit.steps(batch, data) * time, (batch, 1))
    return kit.take(kit.shaped(data, (batch * time, *rest)), places + starts, 0)


@shared("TensorScatter", moves=True)
def tensor_scatter(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Write an update into a cache, from a place of each batch element's own."""
    past, update = inputs[:2]
    rank = len(past.shape)
    order = _batch_first(rank, 0, counted(attributes.get("axis", -2), rank))
    cache, fresh = (kit.turned(value, order) for value in (past, update))
    batch, size = (int(length) for length in cache.shape[:2])
    starts = optional(inputs, 2)
    starts = kit.steps(batch, past) * 0 if starts is None else kit.cast(starts, "int64")
    offsets = kit.shaped(kit.steps(size, past), (1, size)) - kit.shaped(starts, (batch, 1))
    offsets = offsets % size if attributes.get("mode", "linear") == "circular" else offsets
    length = int(fresh.shape[1])
    inside = (offsets >= 0) & (offsets < length)
    taken = _rows(kit, fresh, kit.select(inside, offsets, offsets * 0))
    mask = kit.shaped(inside, (batch, size, *(1,) * (rank - 2)))
    return kit.turned(kit.select(mask, taken, cache), _inverse(order))

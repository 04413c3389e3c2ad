"""The shared rule for regions of images that are pooled to one size, over points sampled between elements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .kit import shared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_HALVES = ("float16", "bfloat16")


@dataclass(frozen=True)
class _Points:
    """The points sampled along one axis, each of shape (regions, bins, samples).

    Attributes:
        low: The element at or below each point; `high` is the one above.
        high: As `low`.
        rest: How far the point is from the element below; 0 where both are one.
        inside: 1 where the point lies in the image, else 0.
        counted: Which samples the region has.
        count: How many those are, of shape (regions,).
    """

    low: Any
    high: Any
    rest: Any
    inside: Any
    counted: Any
    count: Any


@shared("RoiAlign")
def roi_align(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Pool regions of images to one size, over points sampled between elements."""
    data, regions, images = inputs
    batch, channels, height, width = (int(size) for size in data.shape)
    dtype = kit.dtype_of(data)
    wide = "float32" if dtype in _HALVES else dtype
    regions = kit.cast(regions, wide) * attributes.get("spatial_scale", 1.0)
    rows = _points(kit, (regions[:, 1], regions[:, 3]), (height, attributes.get("output_height", 1)), attributes)
    columns = _points(kit, (regions[:, 0], regions[:, 2]), (width, attributes.get("output_width", 1)), attributes)
    flat = kit.shaped(kit.cast(kit.turned(data, (0, 2, 3, 1)), wide), (batch * height * width, channels))
    starts = kit.shaped(kit.cast(images, "int64") * (height * width), (-1, 1, 1, 1, 1))
    corners = _corners(kit, flat, starts, (rows, columns), width)
    pool = _highest if attributes.get("mode", "avg") == "max" else _mean
    return kit.cast(kit.turned(pool(kit, corners, rows, columns), (0, 3, 1, 2)), dtype)


def _points(kit: Kit, ends: tuple[Any, Any], sizes: tuple[int, int], attributes: Attributes) -> _Points:
    size, bins = sizes
    half = attributes.get("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    start = ends[0] - 0.5 if half else ends[0]
    extent = ends[1] - ends[0]
    extent = extent if half else kit.larger(extent, extent * 0 + 1)
    step = extent / bins
    count, most = _samples(kit, step, attributes)
    samples = kit.cast(kit.shaped(kit.steps(most, step), (1, 1, most)), kit.dtype_of(step))
    places = kit.cast(kit.shaped(kit.steps(bins, step), (1, bins, 1)), kit.dtype_of(step))
    start, step, each = (kit.shaped(value, (-1, 1, 1)) for value in (start, step, count))
    spot = start + step * (places + (samples + 0.5) / kit.larger(each, each * 0 + 1))
    inside = kit.cast((spot >= -1) & (spot <= size), kit.dtype_of(spot))
    spot = kit.larger(spot, spot * 0)
    low = kit.floor(kit.smaller(spot, spot * 0 + (size - 1)))
    rest = kit.select(spot >= size - 1, spot * 0, spot - low)
    high = kit.smaller(low + 1, low * 0 + (size - 1))
    counted = (samples < each) & (places >= 0)
    return _Points(kit.cast(low, "int64"), kit.cast(high, "int64"), rest, inside, counted, count)


def _samples(kit: Kit, step: Any, attributes: Attributes) -> tuple[Any, int]:
    """Return how many samples each region has along an axis, and the largest number of them."""
    ratio = attributes.get("sampling_ratio", 0)
    if ratio > 0:
        return step * 0 + ratio, ratio
    counts = np.maximum(np.ceil(kit.host(step, "RoiAlign without sampling_ratio")), 0)
    return kit.cast(kit.tensor_of(counts, step), kit.dtype_of(step)), int(max(counts.max(initial=0), 1))


def _corners(kit: Kit, flat: Any, starts: Any, points: tuple[_Points, _Points], width: int) -> list[Any]:
    """Return the four weighed elements around each point: (regions, rows, samples, columns, samples, channels)."""
    rows, columns = points
    inside = rows.inside[:, :, :, None, None] * columns.inside[:, None, None, :, :]
    made = []
    for row, down in ((rows.low, 1 - rows.rest), (rows.high, rows.rest)):
        for column, across in ((columns.low, 1 - columns.rest), (columns.high, columns.rest)):
            places = starts + row[:, :, :, None, None] * width + column[:, None, None, :, :]
            weight = down[:, :, :, None, None] * across[:, None, None, :, :] * inside
            made.append(kit.take(flat, places, 0) * weight[..., None])
    return made


def _counted(rows: _Points, columns: _Points) -> Any:
    return (rows.counted[:, :, :, None, None] & columns.counted[:, None, None, :, :])[..., None]


def _mean(kit: Kit, corners: Sequence[Any], rows: _Points, columns: _Points) -> Any:
    whole = corners[0] + corners[1] + corners[2] + corners[3]
    whole = kit.total(kit.select(_counted(rows, columns), whole, whole * 0), (2, 4))
    count = kit.shaped(rows.count * columns.count, (-1, 1, 1, 1))
    return whole / kit.larger(count, count * 0 + 1)


def _highest(kit: Kit, corners: Sequence[Any], rows: _Points, columns: _Points) -> Any:
    """The operator compares the weighed elements, not their sums."""
    best = kit.larger(kit.larger(corners[0], corners[1]), kit.larger(corners[2], corners[3]))
    counted = _counted(rows, columns)
    best = kit.highest(kit.select(counted, best, kit.number(-math.inf, best)), (2, 4))
    return kit.select(best == -math.inf, kit.number(0, best), best)

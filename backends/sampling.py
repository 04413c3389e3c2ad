"""Shared rules that sample images at places between their elements: grids and affine maps."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .kit import shared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

# The slope of the cubic kernel.
_SLOPE = -0.75
_HALVES = ("float16", "bfloat16")


@shared("AffineGrid")
def affine_grid(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Return the places, from -1 to 1, that affine maps send an image's elements to; the last axis counts first."""
    theta, sizes = inputs[0], [int(size) for size in inputs[1][2:]]
    base = kit.table(_base, tuple(sizes), attributes.get("align_corners", 0), beside=theta)
    made = kit.turned(kit.along(theta, base, 2), (0, 2, 1))
    return kit.shaped(made, (int(theta.shape[0]), *sizes, len(sizes)))


def _base(sizes: tuple[int, ...], corners: bool) -> np.ndarray:
    """Return each element's place, the last axis first, and a one."""
    lines = [np.linspace(-1, 1, size) if corners else (2 * np.arange(size) + 1) / size - 1 for size in sizes]
    spread = [axis.reshape(-1) for axis in reversed(np.meshgrid(*lines, indexing="ij"))]
    return np.stack([*spread, np.ones(math.prod(sizes))], -1)


@shared("GridSample")
def grid_sample(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Sample images at the places of a grid, over any number of spatial axes."""
    data, grid = inputs
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(attributes.get("mode", "linear"), attributes.get("mode"))
    batch, channels, *sizes = (int(size) for size in data.shape)
    outer = [int(size) for size in grid.shape[1:-1]]
    dtype, wide = kit.dtype_of(data), kit.dtype_of(grid)
    grid = kit.cast(grid, "float32") if wide in _HALVES else grid
    points = [kit.shaped(grid[..., axis], (batch, -1)) for axis in reversed(range(len(sizes)))]
    taps = [_taps(kit, point, size, mode or "linear", attributes) for point, size in zip(points, sizes)]
    rows = kit.shaped(kit.turned(data, (0, *range(2, 2 + len(sizes)), 1)), (-1, channels))
    starts = kit.shaped(kit.steps(batch, data) * math.prod(sizes), (batch, 1))
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    made = _summed(kit, rows, taps, [starts, *strides], moves=mode == "nearest")
    return kit.cast(kit.shaped(kit.turned(made, (0, 2, 1)), (batch, channels, *outer)), dtype)


def _summed(kit: Kit, rows: Any, taps: Sequence[Any], steps: Sequence[Any], *, moves: bool) -> Any:
    """Add up what is at each combination of one tap per axis, times the product of their weights."""
    total: Any = None
    starts, *strides = steps
    for corner in itertools.product(*taps):
        places = starts
        weight: Any = None
        for stride, (place, share) in zip(strides, corner):
            places = places + place * stride
            weight = share if weight is None else weight * share
        taken = kit.take(rows, places, 0)
        if moves:
            taken = kit.select((weight != 0)[..., None], taken, taken * 0)
        else:
            taken = kit.cast(taken, kit.dtype_of(weight)) * weight[..., None]
        total = taken if total is None else total + taken
    return total


def _taps(kit: Kit, point: Any, size: int, mode: str, attributes: Attributes) -> list[tuple[Any, Any]]:
    """Return the elements of one axis that count at each point, as places and weights."""
    corners, padding = bool(attributes.get("align_corners", 0)), attributes.get("padding_mode", "zeros")
    spot = (point + 1) / 2 * (size - 1) if corners else ((point + 1) * size - 1) / 2
    ends = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
    spot = kit.rint(spot) if mode == "nearest" else spot
    beyond = (spot < ends[0]) | (spot > ends[1])
    if padding == "border":
        spot = kit.select(beyond, _within(kit, spot, (0.0, size - 1.0)), spot)
    elif padding == "reflection":
        spot = kit.select(beyond, _reflected(kit, spot, ends), spot)
    low = kit.floor(spot)
    rest = spot - low
    found = []
    for shift, share in _shares(rest, mode):
        place = low + shift
        weight = share
        if padding == "zeros":
            weight = kit.select((place >= 0) & (place <= size - 1), share, share * 0)
        elif padding == "reflection":
            place = kit.floor(_reflected(kit, place, ends) + 0.25)
        found.append((kit.cast(_within(kit, place, (0.0, size - 1.0)), "int64"), weight))
    return found


def _within(kit: Kit, value: Any, ends: tuple[float, float]) -> Any:
    return kit.smaller(kit.larger(value, kit.number(ends[0], value)), kit.number(ends[1], value))


def _reflected(kit: Kit, value: Any, ends: tuple[float, float]) -> Any:
    """Fold a line back and forth between two ends."""
    low, high = ends
    width = high - low
    if width == 0:
        return value * 0 + low
    distance = kit.select(value < low, low - value, value - low)
    folds = kit.floor(distance / width)
    rest = distance - folds * width
    return kit.select(folds % 2 == 0, low + rest, high - rest)


def _shares(rest: Any, mode: str) -> list[tuple[int, Any]]:
    """Return what the elements beside a place count, by how far they are from the one below it."""
    if mode == "nearest":
        return [(0, rest * 0 + 1)]
    if mode == "linear":
        return [(0, 1 - rest), (1, rest)]
    if mode == "cubic":
        return [(-1, _far(1 + rest)), (0, _near(rest)), (1, _near(1 - rest)), (2, _far(2 - rest))]
    raise UnsupportedError(f"GridSample has no mode {mode!r}: it is linear, nearest or cubic")


def _near(distance: Any) -> Any:
    return ((_SLOPE + 2) * distance - (_SLOPE + 3)) * distance * distance + 1


def _far(distance: Any) -> Any:
    return ((distance - 5) * distance + 8) * distance * _SLOPE - 4 * _SLOPE

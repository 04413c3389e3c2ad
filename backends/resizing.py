"""Resizing: which elements of an axis each new element is made of, and with what weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .indexing import counted
from .kit import shared, vector
from .nodes import optional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

# Half-precision numbers are weighed in single precision, and integers in double precision.
_WIDER = {"float16": "float32", "bfloat16": "float32"}


@dataclass(frozen=True)
class Stretch:
    """How one axis is resized.

    Attributes:
        axis: Which, counted from 0.
        length: Elements before.
        size: Elements after.
        scale: New elements per old one; differs from size / length where that is no whole number.
        start: Where in the axis the new one begins, as a share of it; 0 but for crops.
        end: Where it ends; 1 but for crops.
    """

    axis: int
    length: int
    size: int
    scale: float
    start: float = 0.0
    end: float = 1.0

    @property
    def numbers(self) -> tuple[int, int, float, float, float]:
        """Return what the tables of an axis depend on."""
        return self.length, self.size, self.scale, self.start, self.end


@shared("Resize")
def resize(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Resize a tensor along its axes, each of which is a matrix product or a choice of elements."""
    shape = [int(size) for size in inputs[0].shape]
    statics = [optional(inputs, place) or None for place in (1, 2, 3)]
    return _stretched(kit, inputs[0], stretches(shape, statics, attributes), attributes)


@shared("Upsample")
def upsample(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Resize a tensor by scales, from the first element of each axis on."""
    scales = inputs[1] if len(inputs) > 1 else attributes["scales"]
    mode = attributes.get("mode", "nearest")
    meant = {
        "mode": "linear" if mode == "bilinear" else mode,
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    made = stretches([int(size) for size in inputs[0].shape], (None, scales, None), meant)
    return _stretched(kit, inputs[0], made, meant)


def _stretched(kit: Kit, data: Any, made: Sequence[Stretch], attributes: Attributes) -> Any:
    if not made:
        return data
    how = attributes.get("coordinate_transformation_mode", "half_pixel")
    if attributes.get("mode", "nearest") == "nearest":
        value = data
        for stretch in made:
            value = _chosen(kit, value, stretch, (how, attributes.get("nearest_mode", "round_prefer_floor")))
    else:
        value = _weighed(kit, data, made, how, attributes)
    if how != "tf_crop_and_resize":
        return value
    for stretch in made:
        beyond = kit.table(_outside, stretch.numbers, beside=data)
        view = [stretch.size if axis == stretch.axis else 1 for axis in range(len(value.shape))]
        fill = kit.number(attributes.get("extrapolation_value", 0.0), value)
        value = kit.select(kit.shaped(beyond, view), fill, value)
    return value


def _weighed(kit: Kit, data: Any, made: Sequence[Stretch], how: str, attributes: Attributes) -> Any:
    dtype = kit.dtype_of(data)
    whole = "int" in dtype
    value = kit.cast(data, _WIDER.get(dtype, "float64" if whole else dtype))
    slope = attributes.get("cubic_coeff_a", -0.75) if attributes["mode"] == "cubic" else None
    switches = attributes.get("antialias", 0), attributes.get("exclude_outside", 0)
    for stretch in sorted(made, key=lambda one: one.size / one.length):
        weights = kit.table(weights_of, stretch.numbers, how, slope, *switches, beside=data)
        value = kit.along(value, weights, stretch.axis)
    if whole:
        value = kit.rint(value)
        for bound, end in zip((kit.larger, kit.smaller), _ends(dtype)):
            value = bound(value, kit.number(end, value))
    return kit.cast(value, dtype)


def _ends(dtype: str) -> tuple[float, float]:
    """Return the least and the greatest integer that can be cast; a double has not every one of 64 bits."""
    bits = int(dtype.lstrip("uint")) - dtype.startswith("int")
    return 0.0 if dtype.startswith("u") else -float(2**bits), float(2**bits - 2 ** max(bits - 53, 0))


def _chosen(kit: Kit, data: Any, stretch: Stretch, modes: tuple[str, str]) -> Any:
    """Choose elements along an axis; cutting and repeating have faster gradients than indices."""
    places = nearest_places(stretch.numbers, *modes)
    axis, length, size = stretch.axis, stretch.length, stretch.size
    step = places[1] - places[0] if size > 1 else 1
    if step > 0 and all(place == places[0] + step * index for index, place in enumerate(places)):
        return data[(slice(None),) * axis + (slice(places[0], places[-1] + 1, step),)]
    times = size // length
    if size == times * length and all(place == index // times for index, place in enumerate(places)):
        shape = [int(other) for other in data.shape]
        spread = kit.stacked([data] * times, axis + 1)
        return kit.shaped(spread, (*shape[:axis], size, *shape[axis + 1 :]))
    return kit.take(data, kit.table(vector, *places, beside=data), axis)


def stretches(shape: Sequence[int], statics: Sequence[Any], attributes: Attributes) -> list[Stretch]:
    """Return how each axis is resized that does not stay as it is.

    Args:
        shape: The data's.
        statics: The region of interest, the scales and the sizes; None where absent.
        attributes: A `Resize` node's.

    Raises:
        UnsupportedError: There are neither scales nor sizes, or a crop has no region.
    """
    region, scales, sizes = statics
    axes = [counted(axis, len(shape)) for axis in attributes.get("axes") or range(len(shape))]
    lengths = [shape[axis] for axis in axes]
    if scales is None and sizes is None:
        raise UnsupportedError("Resize needs scales or sizes, and has neither")
    if scales is None:
        scales, sizes = _scales(lengths, sizes, attributes)
    else:
        sizes = [math.floor(length * scale) for length, scale in zip(lengths, scales)]
    parts: Any = [(0.0, 1.0)] * len(axes)
    if attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        if region is None:
            raise UnsupportedError("Resize with tf_crop_and_resize needs a region of interest, and has none")
        parts = list(zip(region[: len(axes)], region[len(axes) :]))
    made = [Stretch(*entry, *part) for *entry, part in zip(axes, lengths, sizes, scales, parts)]
    return [one for one in made if one.scale != 1 or one.size != one.length or (one.start, one.end) != (0.0, 1.0)]


def _scales(lengths: Sequence[int], sizes: Sequence[int], attributes: Attributes) -> tuple[list[float], list[int]]:
    """Return scales and sizes where sizes are given; a policy may keep the aspect ratio."""
    scales = [size / length for size, length in zip(sizes, lengths)]
    policy = attributes.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return scales, [int(size) for size in sizes]
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [scale] * len(lengths), [int(scale * length + 0.5) for length in lengths]


Numbers = tuple[int, int, float, float, float]


def _centre(place: int, numbers: Numbers, how: str) -> float:
    """Return where in the old axis the centre of a new element lies."""
    length, size, scale, start, end = numbers
    width = scale * length
    if how == "asymmetric":
        return place / scale
    if how == "align_corners":
        return 0.0 if width == 1 else place * (length - 1) / (width - 1)
    if how == "tf_crop_and_resize":
        extent = (end - start) * (length - 1)
        return start * (length - 1) + (extent / 2 if width == 1 else place * extent / (width - 1))
    if how == "pytorch_half_pixel" and width == 1:
        return -0.5
    offset = length / 2 * (1 - size / width) if how == "half_pixel_symmetric" else 0.0
    return offset + (place + 0.5) / scale - 0.5


def _centres(numbers: Numbers, how: str) -> np.ndarray:
    return np.array([_centre(place, numbers, how) for place in range(numbers[1])], np.float64)


def _outside(numbers: Numbers) -> np.ndarray:
    centres = _centres(numbers, "tf_crop_and_resize")
    return (centres < 0) | (centres > numbers[0] - 1)


def nearest_places(numbers: Numbers, how: str, mode: str) -> tuple[int, ...]:
    """Return which old element each new one is."""
    found = []
    for place in range(numbers[1]):
        centre = _centre(place, numbers, how)
        low = math.floor(centre)
        rest = centre - low
        up = {
            "floor": False,
            "ceil": rest > 0,
            "round_prefer_floor": rest > 0.5,
            "round_prefer_ceil": rest >= 0.5,
        }[mode]
        found.append(min(max(low + up, 0), numbers[0] - 1))
    return tuple(found)


def weights_of(numbers: Numbers, how: str, slope: float | None, antialias: bool, exclude: bool) -> np.ndarray:
    """Return the weight of each old element in each new one, of shape (new, old).

    Args:
        numbers: `Stretch.numbers`.
        how: The coordinate transformation.
        slope: The cubic kernel's, or None for the linear one.
        antialias: Whether the kernel is widened where there are fewer new elements.
        exclude: Whether what lies outside has no weight; else it counts for the nearest inside.
    """
    length, _, scale, *_ = numbers
    centres = _centres(numbers, how)
    narrow = min(scale, 1.0) if antialias else 1.0
    reach = math.ceil((1 if slope is None else 2) / narrow)
    places = np.floor(centres)[:, None] + np.arange(-reach, reach + 2)
    distances = np.abs(places - centres[:, None]) * narrow
    shares = np.maximum(1 - distances, 0) if slope is None else _cubic(distances, slope)
    shares = shares / shares.sum(1, keepdims=True) if narrow < 1 else shares
    if exclude:
        shares = np.where((places < 0) | (places >= length), 0, shares)
        sums = shares.sum(1, keepdims=True)
        shares = shares / np.where(sums == 0, 1, sums)
    weights = np.zeros((len(centres), length))
    rows = np.broadcast_to(np.arange(len(centres))[:, None], places.shape)
    np.add.at(weights, (rows, np.clip(places, 0, length - 1).astype(np.int64)), shares)
    return weights


def _cubic(distances: np.ndarray, slope: float) -> np.ndarray:
    """Return Keys' cubic convolution kernel."""
    near = ((slope + 2) * distances - (slope + 3)) * distances**2 + 1
    far = ((distances - 5) * distances + 8) * distances * slope - 4 * slope
    return np.where(distances <= 1, near, np.where(distances < 2, far, 0))

"""Shared rules that pick values: by fixed conditions, by numbers of classes, by being unique, by boxes that overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .indexing import counted
from .kit import shared, vector
from .nodes import optional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@shared("Compress", moves=True)
def compress(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Keep the slices along an axis, or the elements, for which a condition holds."""
    data = inputs[0]
    places = kit.table(vector, *(place for place, kept in enumerate(inputs[1]) if kept), beside=data)
    if "axis" not in attributes:
        return kit.take(kit.shaped(data, (-1,)), places, 0)
    return kit.take(data, places, counted(attributes["axis"], len(data.shape)))


@shared("ArrayFeatureExtractor", moves=True)
def array_feature_extractor(kit: Kit, inputs: Inputs, _attributes: Attributes) -> Any:
    """Keep the columns at indices; a vector counts as one row."""
    data, indices = inputs[0], kit.shaped(kit.cast(inputs[1], "int64"), (-1,))
    taken = kit.take(data, indices, len(data.shape) - 1)
    return kit.shaped(taken, (1, -1)) if len(data.shape) == 1 else taken


@shared("OneHot")
def one_hot(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Write one value where a class is that of an index, and another elsewhere."""
    indices, depth, values = inputs[0], int(inputs[1][0]), inputs[2]
    rank = len(indices.shape) + 1
    axis = counted(attributes.get("axis", -1), rank)
    places = kit.cast(indices, "int64")
    places = kit.select(places < 0, places + depth, places)
    shape = [int(size) for size in indices.shape]
    view = [1] * rank
    view[axis] = depth
    classes = kit.shaped(kit.steps(depth, indices), view)
    hit = kit.shaped(places, (*shape[:axis], 1, *shape[axis:])) == classes
    return kit.select(hit, values[1], values[0])


@shared("Unique")
def unique(kit: Kit, inputs: Inputs, attributes: Attributes) -> tuple[Any, ...]:
    """Return the different slices, where each is first, which each element is, and how often there are."""
    data = inputs[0] if "axis" in attributes else kit.shaped(inputs[0], (-1,))
    axis = counted(attributes.get("axis", 0), len(data.shape))
    _, first, inverse, counts = np.unique(kit.host(data, "Unique"), True, True, True, axis)
    inverse = inverse.reshape(-1)
    if not attributes.get("sorted", 1):
        order = np.argsort(first)
        inverse = np.argsort(order)[inverse]
        first, counts = first[order], counts[order]
    numbers = (kit.tensor_of(value.astype(np.int64), data) for value in (first, inverse, counts))
    return (kit.take(data, first.astype(np.int64), axis), *numbers)


@shared("NonMaxSuppression")
def non_max_suppression(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Return (batch, class, box) of the boxes that no better one of their class overlaps too much."""
    boxes, scores = (kit.host(value, "NonMaxSuppression").astype(np.float64) for value in inputs[:2])
    most, overlap, least = (_scalar(kit, optional(inputs, place)) for place in (2, 3, 4))
    corners = _corners(boxes, centred=bool(attributes.get("center_point_box", 0)))
    found = [
        (batch, kind, box)
        for batch in range(scores.shape[0])
        for kind in range(scores.shape[1])
        for box in _kept(corners[batch], scores[batch, kind], int(most or 0), overlap or 0.0, least)
    ]
    return kit.tensor_of(np.array(found, np.int64).reshape(-1, 3), inputs[0])


def _scalar(kit: Kit, value: Any) -> float | None:
    return None if value is None else float(kit.host(value, "NonMaxSuppression").reshape(()))


def _corners(boxes: np.ndarray, *, centred: bool) -> np.ndarray:
    """Return boxes as two corners, the one with the smaller coordinates first."""
    if centred:
        x, y, width, height = np.moveaxis(boxes, -1, 0)
        ends = (y - height / 2, x - width / 2, y + height / 2, x + width / 2)
    else:
        ends = tuple(np.moveaxis(boxes, -1, 0))
    low = (np.minimum(ends[0], ends[2]), np.minimum(ends[1], ends[3]))
    high = (np.maximum(ends[0], ends[2]), np.maximum(ends[1], ends[3]))
    return np.stack((*low, *high), -1)


def _kept(boxes: np.ndarray, scores: np.ndarray, most: int, overlap: float, least: float | None) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    kept: list[int] = []
    for box in order if least is None else order[scores[order] > least]:
        if len(kept) >= most:
            break
        if not kept or np.max(_shares(boxes[box], boxes[kept])) <= overlap:
            kept.append(int(box))
    return kept


def _shares(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the overlap of a box with others, as a share of what both cover."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    common = np.prod(np.maximum(sides, 0), axis=-1)
    covered = np.prod(box[2:] - box[:2]) + np.prod(others[:, 2:] - others[:, :2], axis=-1) - common
    return np.divide(common, covered, out=np.zeros_like(common), where=covered > 0)

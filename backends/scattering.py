"""Shared rules that gather and scatter by indices: each is one take, or one scatter, along a flat first axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .indexing import counted
from .kit import shared, vector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@shared("GatherElements", moves=True)
def gather_elements(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Return the elements at places along an axis."""
    places = _element_places(kit, inputs, attributes)
    return kit.take(kit.shaped(inputs[0], (-1,)), places, 0)


@shared("GatherND", moves=True)
def gather_nd(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Return the slices at tuples of indices, within each batch element where there are batch axes."""
    data, indices, batches = inputs[0], inputs[1], attributes.get("batch_dims", 0)
    shape = [int(size) for size in data.shape]
    depth = batches + int(indices.shape[-1])
    places = _slice_places(kit, indices, shape[batches:depth])
    batch, rows = shape[:batches], math.prod(shape[batches:depth])
    if batches:
        starts = kit.steps(math.prod(batch), data) * rows
        places = places + kit.shaped(starts, (*batch, *(1,) * (len(places.shape) - batches)))
    return kit.take(kit.shaped(data, (math.prod(batch) * rows, *shape[depth:])), places, 0)


@shared("Scatter")
@shared("ScatterElements")
def scatter_elements(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Write elements to places along an axis, or add, multiply or compare them to what is there."""
    data, _, updates = inputs
    places = kit.shaped(_element_places(kit, inputs, attributes), (-1,))
    rows, fresh = kit.shaped(data, (-1,)), kit.shaped(updates, (-1,))
    made = kit.scattered(rows, places, fresh, attributes.get("reduction", "none"))
    return kit.shaped(made, [int(size) for size in data.shape])


@shared("ScatterND")
def scatter_nd(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Write slices to places given by tuples of indices, or add, multiply or compare them to what is there."""
    data, indices, updates = inputs
    shape, depth = [int(size) for size in data.shape], int(indices.shape[-1])
    places = kit.shaped(_slice_places(kit, indices, shape[:depth]), (-1,))
    rows = kit.shaped(data, (math.prod(shape[:depth]), *shape[depth:]))
    fresh = kit.shaped(updates, (math.prod([int(size) for size in indices.shape[:-1]]), *shape[depth:]))
    return kit.shaped(kit.scattered(rows, places, fresh, attributes.get("reduction", "none")), shape)


def _element_places(kit: Kit, inputs: Inputs, attributes: Attributes) -> Any:
    """Return the flat place in the data of each element that indices along an axis name."""
    shape, indices = [int(size) for size in inputs[0].shape], kit.cast(inputs[1], "int64")
    axis = counted(attributes.get("axis", 0), len(shape))
    indices = kit.select(indices < 0, indices + shape[axis], indices)
    places = indices * math.prod(shape[axis + 1 :])
    for place, size in enumerate(int(size) for size in indices.shape):
        if place != axis:
            view = [size if other == place else 1 for other in range(len(shape))]
            places = places + kit.shaped(kit.steps(size, places) * math.prod(shape[place + 1 :]), view)
    return places


def _slice_places(kit: Kit, indices: Any, sizes: Sequence[int]) -> Any:
    """Return the flat place of each tuple of indices, which count over axes of these sizes."""
    indices = kit.cast(indices, "int64")
    lengths = kit.table(vector, *sizes, beside=indices)
    strides = kit.table(vector, *(math.prod(sizes[place + 1 :]) for place in range(len(sizes))), beside=indices)
    return kit.total(kit.select(indices < 0, indices + lengths, indices) * strides, (len(indices.shape) - 1,))

"""JAX rules: pooling."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..nodes import optional
from ..registry import rule
from ..windows import shares, unpooled, windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    from ..windows import Windows

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


def _windows(data: Array, attributes: Attributes) -> Windows:
    return windows(data.shape[2:], attributes["kernel_shape"], attributes)


def _reach(form: Windows) -> dict[str, Any]:
    """Return the windows as `reduce_window` takes them."""
    return {
        "window_dimensions": (1, 1, *form.kernel),
        "window_strides": (1, 1, *form.strides),
        "padding": ((0, 0), (0, 0), *form.pads),
    }


@rule("MaxPool", "jax")
def _max_pool(inputs: Inputs, attributes: Attributes) -> Any:
    data, form = inputs[0], _windows(inputs[0], attributes)
    if len(attributes.get("outputs", ())) > 1:
        return _largest(data, form, column_major=bool(attributes.get("storage_order", 0)))
    if set(form.dilations) == {1}:
        return lax.reduce_window(data, _lowest(data), lax.max, **_reach(form))
    # `reduce_window` has no gradient with dilation.
    return functools.reduce(_larger, _seen(data, form))


def _lowest(data: Array) -> Any:
    return -jnp.inf if jnp.issubdtype(data.dtype, jnp.floating) else np.array(np.iinfo(data.dtype).min, data.dtype)


def _seen(data: Array, form: Windows) -> list[Array]:
    padded = jnp.pad(data, ((0, 0), (0, 0), *form.pads), constant_values=_lowest(data))
    return [padded[place] for place in form.slices()]


def _larger(left: Array, right: Array) -> Array:
    """Return the larger elements, the left of equal ones, and what is not a number."""
    return jnp.where((left >= right) | jnp.isnan(left), left, right)


def _largest(data: Array, form: Windows, *, column_major: bool) -> tuple[Array, Array]:
    """Return the largest elements, the first of equal ones, and where they are in the flattened tensor."""
    seen = jnp.stack(_seen(data, form))
    chosen = jnp.argmax(seen, axis=0)[None]
    values = jnp.take_along_axis(seen, chosen, axis=0)[0]
    places = jnp.asarray(form.flat_places(column_major=column_major))[:, None, None]
    within = jnp.take_along_axis(jnp.broadcast_to(places, seen.shape), chosen, axis=0)[0]
    images = jnp.arange(data.shape[0] * data.shape[1], dtype=within.dtype) * math.prod(form.sizes)
    return values, within + images.reshape(*data.shape[:2], *(1,) * form.rank)


@rule("AveragePool", "jax")
def _average_pool(inputs: Inputs, attributes: Attributes) -> Array:
    data, form = _wide(inputs[0]), _windows(inputs[0], attributes)
    factor = shares(form.kernel, form.counts(padding=bool(attributes.get("count_include_pad", 0))))
    mean = _sums(data, form) / math.prod(form.kernel)
    return (mean if factor is None else mean * factor.astype(data.dtype)).astype(inputs[0].dtype)


def _sums(data: Array, form: Windows) -> Array:
    return lax.reduce_window(
        data, np.zeros((), data.dtype), lax.add, **_reach(form), window_dilation=(1, 1, *form.dilations)
    )


def _wide(data: Array) -> Array:
    return data.astype(jnp.promote_types(data.dtype, jnp.float32))


@rule("LpPool", "jax")
def _lp_pool(inputs: Inputs, attributes: Attributes) -> Array:
    data, form, power = inputs[0], _windows(inputs[0], attributes), attributes.get("p", 2)
    return _root(_sums(_powers(data, power), form), power).astype(data.dtype)


@rule("GlobalLpPool", "jax")
def _global_lp_pool(inputs: Inputs, attributes: Attributes) -> Array:
    data, power = inputs[0], attributes.get("p", 2)
    sums = jnp.sum(_powers(data, power), axis=tuple(range(2, data.ndim)), keepdims=True)
    return _root(sums, power).astype(data.dtype)


def _powers(data: Array, power: int) -> Array:
    size = jnp.abs(_wide(data))
    return size if power == 1 else size**power


def _root(sums: Array, power: int) -> Array:
    """Return the root of sums; where a sum is 0 its gradient is."""
    if power == 1:
        return sums
    nothing = sums == 0
    return jnp.where(nothing, 0.0, jnp.where(nothing, 1.0, sums) ** (1.0 / power))


@rule("GlobalAveragePool", "jax")
def _global_average_pool(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.mean(inputs[0], axis=tuple(range(2, inputs[0].ndim)), keepdims=True)


@rule("GlobalMaxPool", "jax")
def _global_max_pool(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.max(inputs[0], axis=tuple(range(2, inputs[0].ndim)), keepdims=True)


@rule("MaxUnpool", "jax")
def _max_unpool(inputs: Inputs, attributes: Attributes) -> Array:
    data, places, wanted = inputs[0], inputs[1], optional(inputs, 2)
    shape = unpooled(data.shape, attributes)
    flat = jnp.zeros(math.prod(shape), data.dtype).at[places.reshape(-1)].set(data.reshape(-1))
    made = flat.reshape(shape)
    if wanted is None:
        return made
    kept = made[tuple(slice(min(int(want), size)) for want, size in zip(wanted, shape))]
    return jnp.pad(kept, [(0, int(want) - size) for want, size in zip(wanted, kept.shape)])

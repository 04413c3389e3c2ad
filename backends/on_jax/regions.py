"""JAX rule: pooling of regions of interest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array


@rule("MaxRoiPool", "jax")
def _max_roi_pool(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Array:
    """Take the largest element of each bin (Girshick, Fast R-CNN, 2015, section 2.1); an empty bin gives 0."""
    data, regions = inputs[0], inputs[1].astype(jnp.promote_types(inputs[1].dtype, jnp.float32))
    corners = regions[:, 1:] * attributes.get("spatial_scale", 1.0)
    corners = jnp.trunc(corners + jnp.copysign(jnp.asarray(0.5, corners.dtype), corners))
    rows, columns = (
        _bins(corners[:, axis], corners[:, axis + 2], count, size)
        for axis, count, size in zip((1, 0), attributes["pooled_shape"], data.shape[2:])
    )
    inside = rows[:, :, None, :, None] & columns[:, None, :, None, :]
    seen = data[regions[:, 0].astype(jnp.int32)][:, :, None, None]
    made = jnp.max(jnp.where(inside[:, None], seen, jnp.finfo(data.dtype).min), axis=(4, 5))
    return jnp.where(jnp.any(inside, axis=(3, 4))[:, None], made, 0.0)


def _bins(start: Array, end: Array, count: int, size: int) -> Array:
    """Return which elements along an axis each bin of each region holds: bool of shape (regions, bins, elements)."""
    width = jnp.maximum(end - start + 1.0, 1.0)[:, None] / count
    order = jnp.arange(count, dtype=start.dtype)
    first = jnp.clip(jnp.floor(order * width) + start[:, None], 0, size)
    last = jnp.clip(jnp.ceil((order + 1.0) * width) + start[:, None], 0, size)
    places = jnp.arange(size, dtype=start.dtype)
    return (places >= first[..., None]) & (places < last[..., None])

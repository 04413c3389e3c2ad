"""JAX rule: rotary positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_RANK_WITH_HEADS = 4


@rule("RotaryEmbedding", "jax")
def _rotary(inputs: Inputs, attributes: Attributes) -> Array:
    data, places = inputs[0], optional(inputs, 3)
    heads = _heads_last(data, attributes)
    size = attributes.get("rotary_embedding_dim", 0) or heads.shape[-1]
    cos, sin = (jnp.expand_dims(table if places is None else _chosen(table, places), 2) for table in inputs[1:3])
    turned = _rotated(heads[..., :size], cos, sin, attributes)
    turned = jnp.concatenate((turned, heads[..., size:]), axis=-1) if size < heads.shape[-1] else turned
    return turned.transpose(0, 2, 1, 3) if data.ndim == _RANK_WITH_HEADS else turned.reshape(data.shape)


def _heads_last(data: Array, attributes: Attributes) -> Array:
    if data.ndim == _RANK_WITH_HEADS:
        return data.transpose(0, 2, 1, 3)
    return data.reshape(*data.shape[:2], attributes["num_heads"], -1)


def _chosen(table: Array, places: Array | np.ndarray) -> Array:
    """Return a table's rows; 32-bit places keep an index from changing its width where 64-bit numbers are on."""
    return jnp.take(table, jnp.asarray(places, jnp.int32), axis=0)


def _rotated(data: Array, cos: Array, sin: Array, attributes: Attributes) -> Array:
    interleaved = bool(attributes.get("interleaved", 0))
    first, second = (data[..., 0::2], data[..., 1::2]) if interleaved else jnp.split(data, 2, axis=-1)
    real, imaginary = first * cos - second * sin, first * sin + second * cos
    if interleaved:
        return jnp.stack((real, imaginary), axis=-1).reshape(data.shape)
    return jnp.concatenate((real, imaginary), axis=-1)

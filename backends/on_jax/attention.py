"""JAX rules: attention and rotary positions. Inside, heads come after positions: (batch, length, heads, size)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..nodes import allowed_keys, optional, refuse_attention
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_RANK_WITH_HEADS = 4
_MASK = 3
_WINDOWS = ("left_window_size", "right_window_size")


@rule("Attention", "jax")
def _attention(inputs: Inputs, attributes: Attributes) -> Array:
    refuse_attention(inputs, attributes, inputs[0].dtype.name, "jax")
    query = _heads_last(inputs[0], attributes.get("q_num_heads"))
    key, value = (_heads_last(tensor, attributes.get("kv_num_heads")) for tensor in inputs[1:3])
    scale = attributes.get("scale", query.shape[-1] ** -0.5)
    if _fused(inputs, attributes, value.shape == key.shape):
        causal = bool(attributes.get("is_causal", 0))
        mixed = jax.nn.dot_product_attention(query, key, value, scale=scale, is_causal=causal)
    else:
        allowed = allowed_keys(query.shape[1], key.shape[1], attributes)
        mixed = _plain(query, key, value, _bias(optional(inputs, _MASK), allowed, query, key.shape[1]), scale)
    if inputs[0].ndim == _RANK_WITH_HEADS:
        return mixed.transpose(0, 2, 1, 3)
    return mixed.reshape(*mixed.shape[:2], -1)


def _fused(inputs: Inputs, attributes: Attributes, same_size: bool) -> bool:  # noqa: FBT001 - a plain fact
    """Say whether JAX's own function means the same: its softmax is float32 whatever the tensors are."""
    plain = optional(inputs, _MASK) is None and all(attributes.get(name, -1) < 0 for name in _WINDOWS)
    return plain and same_size and inputs[0].dtype != jnp.float64


def _heads_last(tensor: Array, heads: int | None) -> Array:
    if tensor.ndim == _RANK_WITH_HEADS:
        return tensor.transpose(0, 2, 1, 3)
    return tensor.reshape(*tensor.shape[:2], heads, -1)


def _bias(mask: Array | None, allowed: np.ndarray | None, query: Array, keys: int) -> Array | None:
    """Return what is added to the scores: -inf where a key is not seen."""
    if mask is None:
        return None if allowed is None else jnp.where(allowed, 0.0, -jnp.inf).astype(query.dtype)
    mask = jnp.asarray(mask)
    bias = jnp.where(mask, 0.0, -jnp.inf).astype(query.dtype) if mask.dtype == bool else mask
    missing = [(0, 0)] * (bias.ndim - 1) + [(0, keys - bias.shape[-1])]
    bias = jnp.pad(bias, missing, constant_values=-jnp.inf)
    return bias if allowed is None else jnp.where(allowed, bias, -jnp.inf)


def _plain(query: Array, key: Array, value: Array, bias: Array | None, scale: float) -> Array:
    """Attend; a query that sees no key gives zeros."""
    shared = query.shape[2] // key.shape[2]
    key, value = (jnp.repeat(tensor, shared, axis=2) for tensor in (key, value))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) * scale
    if bias is None:
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), value)
    unseen = jnp.isneginf(bias)
    blind = jnp.all(unseen, axis=-1, keepdims=True)
    seen = jnp.where(unseen & ~blind, -jnp.inf, scores + jnp.where(unseen, 0.0, bias))
    shares = jnp.where(blind, 0.0, jax.nn.softmax(seen, axis=-1))
    return jnp.einsum("bhqk,bkhd->bqhd", shares, value)


@rule("RotaryEmbedding", "jax")
def _rotary(inputs: Inputs, attributes: Attributes) -> Array:
    data, places = inputs[0], optional(inputs, 3)
    heads = _heads_last(data, attributes.get("num_heads"))
    size = attributes.get("rotary_embedding_dim", 0) or heads.shape[-1]
    cos, sin = (jnp.expand_dims(table if places is None else _chosen(table, places), 2) for table in inputs[1:3])
    turned = _rotated(heads[..., :size], cos, sin, attributes)
    turned = jnp.concatenate((turned, heads[..., size:]), axis=-1) if size < heads.shape[-1] else turned
    return turned.transpose(0, 2, 1, 3) if data.ndim == _RANK_WITH_HEADS else turned.reshape(data.shape)


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

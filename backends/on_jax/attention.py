"""JAX rules: attention. Inside, heads come after positions: (batch, length, heads, size)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..attending import (
    BIASED,
    CAPPED,
    LENGTHS,
    MASK,
    PAST_KEY,
    SHARES,
    allowed_keys,
    attending,
    flexible,
    visible,
    wider,
)
from ..errors import UnsupportedError
from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    from ..attending import Attending

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_RANK_WITH_HEADS = 4


@rule("Attention", "jax")
def _attention(inputs: Inputs, attributes: Attributes) -> Any:
    node = attending(inputs, attributes, "jax")
    query, key, value = (_heads_last(inputs[place], node.heads(place)) for place in range(MASK))
    key, value = (_after(optional(inputs, PAST_KEY + place), tensor) for place, tensor in enumerate((key, value)))
    mixed, scores = _fused(query, key, value, node), None
    if mixed is None:
        bias = _bias(optional(inputs, MASK), _seen(inputs, query, key, node), query, key.shape[1])
        mixed, scores = _plain(query, key, value, bias, node)
    made = mixed.transpose(0, 2, 1, 3) if inputs[0].ndim == _RANK_WITH_HEADS else mixed.reshape(*mixed.shape[:2], -1)
    return node.outputs(made, key.transpose(0, 2, 1, 3), value.transpose(0, 2, 1, 3), scores)


def _fused(query: Array, key: Array, value: Array, node: Attending) -> Array | None:
    """Attend with JAX's own function where it means the same: its softmax is float32 whatever the tensors are.

    On a processor it is no faster for float16 tensors, and rounds otherwise than ONNX says.
    """
    wide = query.dtype == jnp.float64 or known_dtype(wider(node.attributes, query.dtype.name)) == jnp.float64
    half = query.dtype == jnp.float16 and jax.default_backend() == "cpu"
    if not node.bare or wide or half or value.shape != key.shape or value.dtype != query.dtype:
        return None
    scale = node.scale(query.shape[-1])
    return jax.nn.dot_product_attention(query, key, value, scale=scale, is_causal=node.causal)


def _heads_last(tensor: Array, heads: int | None) -> Array:
    if tensor.ndim == _RANK_WITH_HEADS:
        return tensor.transpose(0, 2, 1, 3)
    return tensor.reshape(*tensor.shape[:2], heads, -1)


def _after(past: Array | None, tensor: Array) -> Array:
    return tensor if past is None else jnp.concatenate((past.transpose(0, 2, 1, 3), tensor), axis=1)


def _seen(inputs: Inputs, query: Array, key: Array, node: Attending) -> Any:
    """Return which keys each query sees: (queries, keys), with two more axes where that differs over the batch."""
    queries, keys, lengths = query.shape[1], key.shape[1], optional(inputs, LENGTHS)
    if lengths is None:
        return allowed_keys(queries, keys, node.attributes, node.past)
    lengths = jnp.asarray(lengths, jnp.int32).reshape(-1, 1, 1, 1)
    places = jnp.arange(queries, dtype=jnp.int32)[:, None] + lengths - queries
    return visible(places, jnp.arange(keys, dtype=jnp.int32), node.attributes, lengths)


def _bias(mask: Array | None, allowed: Any, query: Array, keys: int) -> Array | None:
    """Return what is added to the scores: -inf where a key is not seen."""
    if mask is None:
        return None if allowed is None else jnp.where(allowed, 0.0, -jnp.inf).astype(query.dtype)
    mask = jnp.asarray(mask)
    bias = (jnp.where(mask, 0.0, -jnp.inf) if mask.dtype == bool else mask).astype(query.dtype)
    missing = [(0, 0)] * (bias.ndim - 1) + [(0, keys - bias.shape[-1])]
    bias = jnp.pad(bias, missing, constant_values=-jnp.inf)
    return bias if allowed is None else jnp.where(allowed, bias, -jnp.inf)


def _plain(query: Array, key: Array, value: Array, bias: Array | None, node: Attending) -> tuple[Array, Array]:
    """Attend, and return the scores of the node's mode as well; a query that sees no key gives zeros."""
    shared = query.shape[2] // key.shape[2]
    key, value = (jnp.repeat(tensor, shared, axis=2) for tensor in (key, value))
    by_query, by_key = node.scales(query.shape[-1], query.dtype.name)
    raw = jnp.einsum("bqhd,bkhd->bhqk", query * by_query, key if by_key == 1.0 else key * by_key)
    capped = node.cap * jnp.tanh(raw / node.cap) if node.cap else raw
    biased, shares = _shares(capped, bias, known_dtype(wider(node.attributes, query.dtype.name)))
    shares = shares.astype(query.dtype)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", shares, value.astype(query.dtype))
    return mixed, {CAPPED: capped, BIASED: biased, SHARES: shares}.get(node.mode, raw)


def _shares(scores: Array, bias: Array | None, dtype: Any) -> tuple[Array, Array]:
    """Return scores with what is added to them, and their softmax."""
    if bias is None:
        return scores, jax.nn.softmax(scores.astype(dtype), axis=-1)
    unseen = jnp.isneginf(bias)
    blind = jnp.all(unseen, axis=-1, keepdims=True)
    added = scores + jnp.where(unseen, 0.0, bias)
    seen = jnp.where(unseen & ~blind, -jnp.inf, jnp.where(blind, 0.0, added))
    shares = jnp.where(blind, 0.0, jax.nn.softmax(seen.astype(dtype), axis=-1))
    return jnp.where(unseen, -jnp.inf, added), shares


def known_dtype(name: str) -> Any:
    """Return a dtype by name.

    Raises:
        UnsupportedError: It is float64, and the run has none.
    """
    if jax.dtypes.canonicalize_dtype(name) != jnp.dtype(name):
        raise UnsupportedError(f"Attention with softmax_precision {name} on jax needs a {name} run")
    return jnp.dtype(name)


@rule("FlexAttention", "jax")
def _flex(inputs: Inputs, attributes: Attributes) -> Array:
    query, key, value = inputs[:3]
    dtype = known_dtype(flexible(attributes, query.dtype.name))
    shared = query.shape[1] // key.shape[1]
    key, value = (jnp.repeat(tensor, shared, axis=1) for tensor in (key, value))
    scale = attributes.get("scale", query.shape[-1] ** -0.5)
    scores = (jnp.einsum("bhqd,bhkd->bhqk", query, key) * scale).astype(dtype)
    scores = attributes["score_mod"](scores)[0] if "score_mod" in attributes else scores
    shares = jax.nn.softmax(scores, axis=-1)
    shares = attributes["prob_mod"](shares)[0] if "prob_mod" in attributes else shares
    return jnp.einsum("bhqk,bhkd->bhqd", shares, value.astype(dtype)).astype(inputs[2].dtype)

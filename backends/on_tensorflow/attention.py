"""TensorFlow rules: attention."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import tensorflow as tf

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
    rounds,
    visible,
    wider,
)
from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..attending import Attending

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_RANK_WITH_HEADS = 4


@rule("Attention", "tensorflow")
def _attention(inputs: Inputs, attributes: Attributes) -> Any:
    node = attending(inputs, attributes, "tensorflow")
    query, present_key, present_value = (_heads_first(inputs[place], node.heads(place)) for place in range(MASK))
    if node.past:
        present_key, present_value = (
            tf.concat((inputs[PAST_KEY + place], tensor), axis=2)
            for place, tensor in enumerate((present_key, present_value))
        )
    key, value = _shared(query, present_key, present_value)
    by_query, by_key = node.scales(query.shape[-1], query.dtype.name)
    raw = _product(query * by_query, key if by_key == 1.0 else key * by_key, transpose_b=True)
    capped = node.cap * tf.tanh(raw / node.cap) if node.cap else raw
    bias = _bias(optional(inputs, MASK), _seen(optional(inputs, LENGTHS), query, key.shape[2], node), capped)
    biased, shares = _shares(capped, bias, wider(node.attributes, query.dtype.name))
    scores = {CAPPED: capped, BIASED: biased, SHARES: shares}.get(node.mode, raw)
    mixed = _product(shares, value)
    if inputs[0].shape.rank != _RANK_WITH_HEADS:
        mixed = tf.reshape(tf.transpose(mixed, (0, 2, 1, 3)), (*inputs[0].shape[:2], -1))
    return node.outputs(mixed, present_key, present_value, scores)


def _product(left: tf.Tensor, right: tf.Tensor, *, transpose_b: bool = False) -> tf.Tensor:
    """Return a matrix product; a processor's own for float16 would round after each addition."""
    if left.dtype != tf.float16 or tf.config.list_physical_devices("GPU"):
        return tf.matmul(left, right, transpose_b=transpose_b)
    wide = (tf.cast(factor, tf.float32) for factor in (left, right))
    return tf.cast(tf.matmul(*wide, transpose_b=transpose_b), left.dtype)


def _heads_first(tensor: tf.Tensor, heads: int | None) -> tf.Tensor:
    """Return `(batch, length, heads * size)` as `(batch, heads, length, size)`."""
    if tensor.shape.rank == _RANK_WITH_HEADS:
        return tensor
    return tf.transpose(tf.reshape(tensor, (*tensor.shape[:2], heads, -1)), (0, 2, 1, 3))


def _shared(query: tf.Tensor, key: tf.Tensor, value: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return keys and values with as many heads as the queries."""
    shared = query.shape[1] // key.shape[1]
    key, value = (
        tensor if shared == 1 else tf.repeat(tensor, shared, axis=1) for tensor in (key, tf.cast(value, query.dtype))
    )
    return key, value


def _seen(lengths: tf.Tensor | None, query: tf.Tensor, keys: int, node: Attending) -> Any:
    """Return which keys each query sees: (queries, keys), with two more axes where that differs over the batch."""
    queries = query.shape[2]
    if lengths is None:
        return allowed_keys(queries, keys, node.attributes, node.past)
    lengths = tf.reshape(tf.cast(lengths, tf.int64), (-1, 1, 1, 1))
    places = tf.range(queries, dtype=tf.int64)[:, None] + lengths - queries
    return visible(places, tf.range(keys, dtype=tf.int64), node.attributes, lengths)


def _bias(mask: tf.Tensor | None, allowed: Any, scores: tf.Tensor) -> tf.Tensor | None:
    """Return what is added to the scores: -inf where a key is not seen."""
    zero, hidden = tf.zeros((), scores.dtype), tf.constant(-math.inf, scores.dtype)
    if mask is None:
        return None if allowed is None else tf.where(allowed, zero, hidden)
    mask = tf.convert_to_tensor(mask)
    bias = tf.where(mask, zero, hidden) if mask.dtype == tf.bool else tf.cast(mask, scores.dtype)
    missing = [[0, 0]] * (bias.shape.rank - 1) + [[0, scores.shape[-1] - bias.shape[-1]]]
    bias = tf.pad(bias, missing, constant_values=hidden)
    return bias if allowed is None else tf.where(allowed, bias, hidden)


def _shares(scores: tf.Tensor, bias: tf.Tensor | None, dtype: str) -> tuple[tf.Tensor, tf.Tensor]:
    """Return scores with what is added to them, and their softmax; a query that sees no key gives zeros."""
    if bias is None:
        return scores, tf.cast(_softmax(tf.cast(scores, dtype)), scores.dtype)
    zero, hidden = tf.zeros((), scores.dtype), tf.constant(-math.inf, scores.dtype)
    unseen = tf.math.is_inf(bias) & (bias < zero)
    blind = tf.reduce_all(unseen, axis=-1, keepdims=True)
    added = scores + tf.where(unseen, zero, bias)
    seen = tf.where(blind, zero, tf.where(unseen & ~blind, hidden, added))
    shares = tf.cast(_softmax(tf.cast(seen, dtype)), scores.dtype)
    return tf.where(unseen, hidden, added), tf.where(blind, zero, shares)


def _softmax(scores: tf.Tensor) -> tf.Tensor:
    if not rounds(scores.dtype.name):
        return tf.nn.softmax(scores)
    powers = tf.exp(scores - tf.stop_gradient(tf.reduce_max(scores, axis=-1, keepdims=True)))
    return powers / tf.cast(tf.reduce_sum(tf.cast(powers, tf.float32), axis=-1, keepdims=True), scores.dtype)


@rule("FlexAttention", "tensorflow")
def _flex(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    key, value = _shared(*inputs[:3])
    dtype = flexible(attributes, key.dtype.name)
    scale = attributes.get("scale", 1.0 / math.sqrt(key.shape[-1]))
    scores = tf.cast(tf.matmul(inputs[0], key, transpose_b=True) * scale, dtype)
    scores = attributes["score_mod"](scores)[0] if "score_mod" in attributes else scores
    shares = tf.nn.softmax(scores)
    shares = attributes["prob_mod"](shares)[0] if "prob_mod" in attributes else shares
    return tf.cast(tf.matmul(shares, tf.cast(value, dtype)), inputs[2].dtype)

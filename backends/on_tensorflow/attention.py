"""TensorFlow rules: attention and rotary positions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import allowed_keys, optional, refuse_attention
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_RANK_WITH_HEADS = 4
_MASK = 3


@rule("Attention", "tensorflow")
def _attention(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    refuse_attention(inputs, attributes, inputs[0].dtype.name, "tensorflow")
    query = _heads_first(inputs[0], attributes.get("q_num_heads"))
    key, value = (_heads_first(tensor, attributes.get("kv_num_heads")) for tensor in inputs[1:3])
    shared = query.shape[1] // key.shape[1]
    key, value = (tensor if shared == 1 else tf.repeat(tensor, shared, axis=1) for tensor in (key, value))
    allowed = allowed_keys(query.shape[2], key.shape[2], attributes)
    scale = attributes.get("scale", 1.0 / math.sqrt(query.shape[-1]))
    scores = tf.matmul(query, key, transpose_b=True) * scale
    mixed = tf.matmul(_shares(scores, optional(inputs, _MASK), allowed), value)
    if inputs[0].shape.rank == _RANK_WITH_HEADS:
        return mixed
    return tf.reshape(tf.transpose(mixed, (0, 2, 1, 3)), (*inputs[0].shape[:2], -1))


def _heads_first(tensor: tf.Tensor, heads: int | None) -> tf.Tensor:
    """Return `(batch, length, heads * size)` as `(batch, heads, length, size)`."""
    if tensor.shape.rank == _RANK_WITH_HEADS:
        return tensor
    return tf.transpose(tf.reshape(tensor, (*tensor.shape[:2], heads, -1)), (0, 2, 1, 3))


def _shares(scores: tf.Tensor, mask: tf.Tensor | None, allowed: np.ndarray | None) -> tf.Tensor:
    """Return the softmax of masked scores; a query that sees no key gives zeros."""
    if mask is None and allowed is None:
        return tf.nn.softmax(scores)
    zero, hidden = tf.zeros((), scores.dtype), tf.constant(-math.inf, scores.dtype)
    bias = _bias(mask, allowed, scores)
    unseen = tf.math.is_inf(bias) & (bias < zero)
    blind = tf.reduce_all(unseen, axis=-1, keepdims=True)
    seen = tf.where(unseen & ~blind, hidden, scores + tf.where(unseen, zero, bias))
    return tf.where(blind, zero, tf.nn.softmax(seen))


def _bias(mask: tf.Tensor | None, allowed: np.ndarray | None, scores: tf.Tensor) -> tf.Tensor:
    """Return what is added to the scores: -inf where a key is not seen."""
    zero, hidden = tf.zeros((), scores.dtype), tf.constant(-math.inf, scores.dtype)
    if mask is None:
        return tf.where(allowed, zero, hidden)
    mask = tf.convert_to_tensor(mask)
    bias = tf.where(mask, zero, hidden) if mask.dtype == tf.bool else mask
    missing = [[0, 0]] * (bias.shape.rank - 1) + [[0, scores.shape[-1] - bias.shape[-1]]]
    bias = tf.pad(bias, missing, constant_values=-math.inf)
    return bias if allowed is None else tf.where(allowed, bias, hidden)


@rule("RotaryEmbedding", "tensorflow")
def _rotary(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, places = inputs[0], optional(inputs, 3)
    flat = data.shape.rank != _RANK_WITH_HEADS
    heads = (
        tf.reshape(data, (*data.shape[:2], attributes["num_heads"], -1)) if flat else tf.transpose(data, (0, 2, 1, 3))
    )
    size = attributes.get("rotary_embedding_dim", 0) or heads.shape[-1]
    cos, sin = (tf.expand_dims(table if places is None else tf.gather(table, places), 2) for table in inputs[1:3])
    turned = _rotated(heads[..., :size], cos, sin, attributes)
    turned = tf.concat((turned, heads[..., size:]), axis=-1) if size < heads.shape[-1] else turned
    return tf.reshape(turned, data.shape) if flat else tf.transpose(turned, (0, 2, 1, 3))


def _rotated(data: tf.Tensor, cos: tf.Tensor, sin: tf.Tensor, attributes: Attributes) -> tf.Tensor:
    interleaved = bool(attributes.get("interleaved", 0))
    first, second = (data[..., 0::2], data[..., 1::2]) if interleaved else tf.split(data, 2, axis=-1)
    real, imaginary = first * cos - second * sin, first * sin + second * cos
    if interleaved:
        return tf.reshape(tf.stack((real, imaginary), axis=-1), data.shape)
    return tf.concat((real, imaginary), axis=-1)

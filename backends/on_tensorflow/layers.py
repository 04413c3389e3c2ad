"""TensorFlow rules: normalisation and loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import normalized_axes, optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_EPSILON = 1e-5


@rule("LayerNormalization", "tensorflow")
def _layer_norm(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, ...]:
    data, scale, bias = inputs[0], inputs[1], optional(inputs, 2)
    wide, axes = _at_least_float32(data), normalized_axes(data.shape.rank, attributes)
    mean = tf.reduce_mean(wide, axis=axes, keepdims=True)
    centred = wide - mean
    variance = tf.reduce_mean(centred * centred, axis=axes, keepdims=True)
    inverse = tf.math.rsqrt(variance + attributes.get("epsilon", _EPSILON))
    scaled = tf.cast(centred * inverse, data.dtype) * scale
    return (scaled if bias is None else scaled + bias), mean, inverse


@rule("RMSNormalization", "tensorflow")
def _rms_norm(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, scale = inputs[0], inputs[1]
    wide, axes = _at_least_float32(data), normalized_axes(data.shape.rank, attributes)
    square = tf.reduce_mean(wide * wide, axis=axes, keepdims=True)
    return tf.cast(wide * tf.math.rsqrt(square + attributes.get("epsilon", _EPSILON)), data.dtype) * scale


def _at_least_float32(data: tf.Tensor) -> tf.Tensor:
    return data if data.dtype == tf.float64 else tf.cast(data, tf.float32)


@rule("SoftmaxCrossEntropyLoss", "tensorflow")
def _cross_entropy(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, tf.Tensor]:
    scores, labels, weights = inputs[0], tf.convert_to_tensor(inputs[1]), optional(inputs, 2)
    kept = labels != attributes["ignore_index"] if "ignore_index" in attributes else None
    safe = labels if kept is None else tf.where(kept, labels, tf.zeros_like(labels))
    rank = scores.shape.rank
    classes_last = tf.transpose(scores, (0, *range(2, rank), 1)) if rank > 2 else scores  # noqa: PLR2004 - a matrix
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(safe, classes_last)
    shares = None if weights is None else tf.gather(weights, safe)
    if kept is not None:
        chosen = tf.cast(kept, scores.dtype)
        losses, shares = losses * chosen, chosen if shares is None else shares * chosen
    log_probabilities = tf.nn.log_softmax(scores, axis=1)
    return _reduced(losses, shares, attributes.get("reduction", "mean")), log_probabilities


def _reduced(losses: tf.Tensor, shares: tf.Tensor | None, reduction: str) -> tf.Tensor:
    weighted = losses if shares is None else losses * shares
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return tf.reduce_sum(weighted)
    return tf.reduce_mean(weighted) if shares is None else tf.reduce_sum(weighted) / tf.reduce_sum(shares)

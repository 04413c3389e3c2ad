"""TensorFlow rules: normalisation over axes of one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import normalized_axes, optional
from ..normalizing import EPSILON, grouped, neighbours, stash_dtype
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_TINY = 1e-9


@rule("LayerNormalization", "tensorflow")
def _layer_norm(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, ...]:
    data, scale, bias = inputs[0], inputs[1], optional(inputs, 2)
    wide = _stashed("LayerNormalization", data, attributes)
    normal, mean, inverse = _standard(wide, normalized_axes(data.shape.rank, attributes), attributes)
    scaled = tf.cast(normal, data.dtype) * scale
    return (scaled if bias is None else scaled + bias), mean, inverse


def _standard(wide: tf.Tensor, axes: Sequence[int], attributes: Attributes) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return values of mean 0 and variance 1 over axes, the mean, and the inverse of the standard deviation."""
    mean = tf.reduce_mean(wide, axis=axes, keepdims=True)
    centred = wide - mean
    variance = tf.reduce_mean(centred * centred, axis=axes, keepdims=True)
    inverse = tf.math.rsqrt(variance + attributes.get("epsilon", EPSILON))
    return centred * inverse, mean, inverse


@rule("RMSNormalization", "tensorflow")
def _rms_norm(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, scale = inputs[0], inputs[1]
    wide, axes = _stashed("RMSNormalization", data, attributes), normalized_axes(data.shape.rank, attributes)
    square = tf.reduce_mean(wide * wide, axis=axes, keepdims=True)
    normal = wide * tf.math.rsqrt(square + attributes.get("epsilon", EPSILON))
    return tf.cast(tf.cast(normal, data.dtype), scale.dtype) * scale


def _stashed(op: str, data: tf.Tensor, attributes: Attributes) -> tf.Tensor:
    return tf.cast(data, stash_dtype(op, data.dtype.name, attributes))


def _wide(data: tf.Tensor) -> tf.Tensor:
    return data if data.dtype == tf.float64 else tf.cast(data, tf.float32)


@rule("GroupNormalization", "tensorflow")
def _group_norm(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, scale, bias = inputs
    wide = _stashed("GroupNormalization", data, attributes)
    apart = tf.reshape(wide, grouped(tuple(data.shape), attributes["num_groups"]))
    normal = _standard(apart, range(2, apart.shape.rank), attributes)[0]
    whole = tf.cast(tf.reshape(normal, data.shape), data.dtype)
    return whole * _along_channels(scale, data) + _along_channels(bias, data)


@rule("InstanceNormalization", "tensorflow")
def _instance_norm(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, scale, bias = map(_wide, inputs)
    normal = _standard(data, range(2, data.shape.rank), attributes)[0]
    return tf.cast(normal * _along_channels(scale, data) + _along_channels(bias, data), inputs[0].dtype)


def _along_channels(values: tf.Tensor, data: tf.Tensor) -> tf.Tensor:
    return tf.reshape(values, (-1, *(1,) * (data.shape.rank - 2)))


@rule("MeanVarianceNormalization", "tensorflow")
def _mean_variance_norm(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, axes = _wide(inputs[0]), attributes.get("axes", (0, 2, 3))
    centred = data - tf.reduce_mean(data, axis=axes, keepdims=True)
    deviation = _safe_root(tf.reduce_mean(centred * centred, axis=axes, keepdims=True))
    return tf.cast(centred / (deviation + _TINY), inputs[0].dtype)


@rule("LpNormalization", "tensorflow")
def _lp_norm(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, axis = _wide(inputs[0]), attributes.get("axis", -1)
    if attributes.get("p", 2) == 1:
        norm = tf.reduce_sum(tf.abs(data), axis=axis, keepdims=True)
    else:
        norm = _safe_root(tf.reduce_sum(data * data, axis=axis, keepdims=True))
    return tf.cast(data / tf.where(norm == 0, tf.ones_like(norm), norm), inputs[0].dtype)


def _safe_root(squares: tf.Tensor) -> tf.Tensor:
    """Return square roots; where one is 0 its gradient is."""
    nothing = squares == 0
    return tf.where(nothing, tf.zeros_like(squares), tf.sqrt(tf.where(nothing, tf.ones_like(squares), squares)))


@rule("LRN", "tensorflow")
def _local_response_norm(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, size = _wide(inputs[0]), attributes["size"]
    channels, around = data.shape[1], neighbours(data.shape[1], size)
    squares = tf.pad(data * data, ((0, 0), around, *((0, 0),) * (data.shape.rank - 2)))
    sums = tf.add_n([squares[:, place : place + channels] for place in range(sum(around) + 1)])
    base = attributes.get("bias", 1.0) + attributes.get("alpha", 1e-4) / size * sums
    return tf.cast(data / base ** attributes.get("beta", 0.75), inputs[0].dtype)

"""TensorFlow rule: normalisation over the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_EPSILON = 1e-5
_MOMENTUM = 0.9
# Axes of a batch of images.
_IMAGE = 4


@rule("BatchNormalization", "tensorflow")
def _batch_norm(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, ...]:
    data = inputs[0] if inputs[0].dtype == tf.float64 else tf.cast(inputs[0], tf.float32)
    scale, bias, mean, variance = (tf.cast(value, data.dtype) for value in inputs[1:])
    if not attributes.get("training_mode", 0):
        shape = (-1, *(1,) * (data.shape.rank - 2))
        factor = scale * tf.math.rsqrt(variance + attributes.get("epsilon", _EPSILON))
        centred = data - tf.reshape(mean, shape)
        return (tf.cast(centred * tf.reshape(factor, shape) + tf.reshape(bias, shape), inputs[0].dtype),)
    normal, found = (_fused if data.dtype == tf.float32 else _written_out)(data, scale, bias, attributes)
    kept = attributes.get("momentum", _MOMENTUM)
    running = (old * kept + new * (1.0 - kept) for old, new in zip((mean, variance), found))
    return (tf.cast(normal, inputs[0].dtype), *(tf.cast(new, old.dtype) for new, old in zip(running, inputs[3:])))


def _fused(
    data: tf.Tensor, scale: tf.Tensor, bias: tf.Tensor, attributes: Attributes
) -> tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor]]:
    """Normalise by the batch's own statistics, and return them.

    `tf.nn.batch_norm` raises a small epsilon; the operation below it does not. Its variance is the unbiased one.
    """
    shape = tuple(data.shape)
    image = data if len(shape) == _IMAGE else tf.reshape(data, (*shape[:2], -1, 1))
    made = tf.raw_ops.FusedBatchNormV3(
        x=image,
        scale=scale,
        offset=bias,
        mean=tf.zeros((0,)),
        variance=tf.zeros((0,)),
        epsilon=attributes.get("epsilon", _EPSILON),
        data_format="NCHW",
        is_training=True,
    )
    count = data.shape.num_elements() // shape[1]
    return tf.reshape(made.y, shape), (made.batch_mean, made.batch_variance * ((count - 1) / count))


def _written_out(
    data: tf.Tensor, scale: tf.Tensor, bias: tf.Tensor, attributes: Attributes
) -> tuple[tf.Tensor, tuple[tf.Tensor, tf.Tensor]]:
    axes, shape = (0, *range(2, data.shape.rank)), (-1, *(1,) * (data.shape.rank - 2))
    mean = tf.reduce_mean(data, axis=axes, keepdims=True)
    centred = data - mean
    variance = tf.reduce_mean(centred * centred, axis=axes, keepdims=True)
    factor = tf.reshape(scale, shape) * tf.math.rsqrt(variance + attributes.get("epsilon", _EPSILON))
    return centred * factor + tf.reshape(bias, shape), (tf.reshape(mean, (-1,)), tf.reshape(variance, (-1,)))

"""TensorFlow rules: images channels last, as `layout` writes them; kernels are (height, width, in, out)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import optional, paddings
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_EPSILON = 1e-5
_MOMENTUM = 0.9


@rule("ConvLast", "tensorflow")
def _conv(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, kernel, bias = inputs[0], inputs[1], optional(inputs, 2)
    padding = _padding(data, tuple(kernel.shape[:2]), attributes)
    product = tf.nn.conv2d(data, kernel, attributes.get("strides") or (1, 1), padding)
    return product if bias is None else tf.nn.bias_add(product, bias)


@rule("MaxPoolLast", "tensorflow")
def _max_pool(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    kernel, strides = attributes["kernel_shape"], attributes.get("strides") or (1, 1)
    return tf.nn.max_pool2d(inputs[0], kernel, strides, _padding(inputs[0], kernel, attributes))


@rule("GlobalAveragePoolLast", "tensorflow")
def _global_average_pool(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    mean = tf.reduce_mean(inputs[0], axis=(1, 2))
    return mean[:, :, tf.newaxis, tf.newaxis]


@rule("BatchNormalizationLast", "tensorflow")
def _batch_norm(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, ...]:
    data, scale, bias, mean, variance = inputs
    epsilon = attributes.get("epsilon", _EPSILON)
    if not attributes.get("training_mode", 0):
        factor = scale * tf.math.rsqrt(variance + epsilon)
        return ((data - mean) * factor + bias,)
    if data.dtype == tf.float32:
        normal, here, spread = _fused(data, scale, bias, epsilon)
    else:
        here, spread = tf.nn.moments(data, (0, 1, 2))
        normal = (data - here) * (scale * tf.math.rsqrt(spread + epsilon)) + bias
    kept = attributes.get("momentum", _MOMENTUM)
    return normal, mean * kept + here * (1.0 - kept), variance * kept + spread * (1.0 - kept)


def _fused(data: tf.Tensor, scale: tf.Tensor, bias: tf.Tensor, epsilon: float) -> tuple[tf.Tensor, ...]:
    """Normalise by the batch's statistics, and return them; the operation's variance is the unbiased one."""
    made = tf.raw_ops.FusedBatchNormV3(
        x=data,
        scale=scale,
        offset=bias,
        mean=tf.zeros((0,)),
        variance=tf.zeros((0,)),
        epsilon=epsilon,
        data_format="NHWC",
        is_training=True,
    )
    count = data.shape.num_elements() // data.shape[-1]
    return made.y, made.batch_mean, made.batch_variance * ((count - 1) / count)


def _padding(data: tf.Tensor, kernel: Sequence[int], attributes: Attributes) -> str | list[list[int]]:
    """Return TensorFlow's word for a padding where it has one, for it is faster, and the widths where not."""
    sizes = tuple(data.shape[1:3])
    pads = paddings(sizes, kernel, attributes)
    if not any(map(any, pads)):
        return "VALID"
    if pads == paddings(sizes, kernel, {**attributes, "auto_pad": "SAME_UPPER"}):
        return "SAME"
    return [[0, 0], *map(list, pads), [0, 0]]

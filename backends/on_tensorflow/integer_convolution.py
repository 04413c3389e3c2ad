"""TensorFlow rules: convolutions of quantized numbers. float64 holds every sum of their products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import optional
from ..registry import rule
from .convolution import convolved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("ConvInteger", "tensorflow")
def _conv_integer(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    sums = _sums(inputs[:2], (optional(inputs, 2), optional(inputs, 3)), attributes)
    return tf.cast(tf.cast(sums, tf.int64), tf.int32)


@rule("QLinearConv", "tensorflow")
def _quantized_conv(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, data_scale, data_zero, weight, weight_scale, weight_zero, scale, zero = inputs[:8]
    sums = _sums((data, weight), (data_zero, weight_zero), attributes)
    shape, bias = (-1, *(1,) * (data.shape.rank - 2)), optional(inputs, 8)
    if bias is not None:
        sums += tf.reshape(_double(bias), shape)
    factor = _double(data_scale) * tf.reshape(_double(weight_scale), shape) / _double(scale)
    rounded = tf.round(sums * factor) + _double(zero)
    return tf.cast(tf.clip_by_value(rounded, zero.dtype.min, zero.dtype.max), zero.dtype)


def _sums(tensors: Sequence[tf.Tensor], zeros: Sequence[tf.Tensor | None], attributes: Attributes) -> tf.Tensor:
    data, weight = map(_double, tensors)
    if zeros[0] is not None:
        data -= _double(zeros[0])
    if zeros[1] is not None:
        weight -= tf.reshape(_double(zeros[1]), (-1, *(1,) * (weight.shape.rank - 1)))
    return convolved(data, weight, None, attributes)


def _double(tensor: tf.Tensor) -> tf.Tensor:
    return tf.cast(tensor, tf.float64)

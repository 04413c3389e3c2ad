"""TensorFlow rules: convolution and pooling. The CPU has convolutions with channels last only."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import optional, paddings, window_slices
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("Conv", "tensorflow")
def _conv(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, weight, bias = _channels_last(inputs[0]), inputs[1], optional(inputs, 2)
    rank, groups = data.shape.rank - 2, attributes.get("group", 1)
    strides, dilations = (attributes.get(name) or (1,) * rank for name in ("strides", "dilations"))
    data, padding = _padded(data, tuple(weight.shape[2:]), attributes)
    kernel = tf.transpose(weight, (*range(2, rank + 2), 1, 0))
    # The CPU has no gradient of a grouped convolution.
    parts = zip(tf.split(data, groups, axis=-1), tf.split(kernel, groups, axis=-1))
    made = [tf.nn.convolution(part, window, strides, padding, dilations=dilations) for part, window in parts]
    product = made[0] if groups == 1 else tf.concat(made, axis=-1)
    return _channels_first(product if bias is None else product + bias)


@rule("MaxPool", "tensorflow")
def _max_pool(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    """Take the larger of each place of the window in turn.

    `tf.nn.max_pool` has no gradient that XLA compiles while TensorFlow is told to be deterministic.
    """
    kernel, sizes = attributes["kernel_shape"], inputs[0].shape[2:]
    pads = ((0, 0), (0, 0), *paddings(sizes, kernel, attributes))
    data = tf.pad(inputs[0], pads, constant_values=inputs[0].dtype.min)
    places = (data[place] for place in window_slices(data.shape[2:], kernel, attributes))
    return functools.reduce(_larger, places)


def _larger(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """Return the larger elements, the left of equal ones, and what is not a number."""
    return tf.where((left >= right) | tf.math.is_nan(left), left, right)


@rule("GlobalAveragePool", "tensorflow")
def _global_average_pool(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.reduce_mean(inputs[0], axis=tuple(range(2, inputs[0].shape.rank)), keepdims=True)


def _padded(data: tf.Tensor, kernel: tuple[int, ...], attributes: Attributes) -> tuple[tf.Tensor, str]:
    """Leave padding that TensorFlow has a word for to the operator, and apply any other beforehand."""
    sizes = data.shape[1:-1]
    pads = paddings(sizes, kernel, attributes)
    if not any(before or after for before, after in pads):
        return data, "VALID"
    if pads == paddings(sizes, kernel, {**attributes, "auto_pad": "SAME_UPPER"}):
        return data, "SAME"
    return tf.pad(data, ((0, 0), *pads, (0, 0))), "VALID"


def _channels_last(data: tf.Tensor) -> tf.Tensor:
    return tf.transpose(data, (0, *range(2, data.shape.rank), 1))


def _channels_first(data: tf.Tensor) -> tf.Tensor:
    return tf.transpose(data, (0, data.shape.rank - 1, *range(1, data.shape.rank - 1)))

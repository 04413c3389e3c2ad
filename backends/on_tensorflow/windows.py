"""TensorFlow rules: convolution and pooling. TensorFlow's CPU kernels want channels last: (batch, ..., channels)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import optional, paddings, refuse
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
    data, padding = _padded(data, tuple(weight.shape[2:]), attributes, 0)
    kernel = tf.transpose(weight, (*range(2, rank + 2), 1, 0))
    # The CPU has no gradient of a grouped convolution.
    parts = zip(tf.split(data, groups, axis=-1), tf.split(kernel, groups, axis=-1))
    made = [tf.nn.convolution(part, window, strides, padding, dilations=dilations) for part, window in parts]
    product = made[0] if groups == 1 else tf.concat(made, axis=-1)
    return _channels_first(product if bias is None else product + bias)


@rule("MaxPool", "tensorflow")
def _max_pool(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    dilated = any(size != 1 for size in attributes.get("dilations") or ())
    refuse("MaxPool", "tensorflow", {"dilations": dilated}, ("dilations",))
    data, kernel = _channels_last(inputs[0]), tuple(attributes["kernel_shape"])
    strides = attributes.get("strides") or (1,) * len(kernel)
    data, padding = _padded(data, kernel, attributes, data.dtype.min)
    return _channels_first(tf.nn.max_pool(data, kernel, strides, padding))


@rule("GlobalAveragePool", "tensorflow")
def _global_average_pool(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.reduce_mean(inputs[0], axis=tuple(range(2, inputs[0].shape.rank)), keepdims=True)


def _padded(data: tf.Tensor, kernel: tuple[int, ...], attributes: Attributes, value: float) -> tuple[tf.Tensor, str]:
    """Leave padding that TensorFlow has a word for to the operator, and apply any other beforehand."""
    sizes = data.shape[1:-1]
    pads = paddings(sizes, kernel, attributes)
    if not any(before or after for before, after in pads):
        return data, "VALID"
    if pads == paddings(sizes, kernel, {**attributes, "auto_pad": "SAME_UPPER"}):
        return data, "SAME"
    return tf.pad(data, ((0, 0), *pads, (0, 0)), constant_values=value), "VALID"


def _channels_last(data: tf.Tensor) -> tf.Tensor:
    return tf.transpose(data, (0, *range(2, data.shape.rank), 1))


def _channels_first(data: tf.Tensor) -> tf.Tensor:
    return tf.transpose(data, (0, data.shape.rank - 1, *range(1, data.shape.rank - 1)))

"""TensorFlow rules: moving and selecting values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import flattened, optional, reshaped, split_sizes
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("Gather", "tensorflow")
def _gather(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    axis, indices = attributes.get("axis", 0), tf.convert_to_tensor(inputs[1])
    counted = tf.where(indices < 0, indices + inputs[0].shape[axis], indices)
    return tf.gather(inputs[0], counted, axis=axis)


@rule("Reshape", "tensorflow")
def _reshape(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.reshape(inputs[0], reshaped(inputs[0].shape, attributes, inputs[1]))


@rule("Transpose", "tensorflow")
def _transpose(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.transpose(inputs[0], attributes.get("perm"))


@rule("Flatten", "tensorflow")
def _flatten(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.reshape(inputs[0], flattened(inputs[0].shape, attributes))


@rule("Concat", "tensorflow")
def _concat(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.concat(inputs, axis=attributes["axis"])


@rule("Split", "tensorflow")
def _split(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, ...]:
    axis = attributes.get("axis", 0)
    sizes = split_sizes(inputs[0].shape[axis], attributes, optional(inputs, 1))
    return tuple(tf.split(inputs[0], sizes, axis=axis))


@rule("Squeeze", "tensorflow")
def _squeeze(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    axes = optional(inputs, 1)
    return tf.squeeze(inputs[0], None if axes is None else [int(axis) for axis in axes])


@rule("Unsqueeze", "tensorflow")
def _unsqueeze(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    data, rank = inputs[0], inputs[0].shape.rank + len(inputs[1])
    for axis in sorted(int(axis) % rank for axis in inputs[1]):
        data = tf.expand_dims(data, axis)
    return data

"""TensorFlow rules: shapes, and tensors put together, cut or repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..indexing import as_slice, broadcast_shape, constant_of, counted, fill_value, shape_part, slice_ranges
from ..nodes import flattened, optional, reshaped, split_sizes
from ..registry import rule
from ..values import Narrow
from .arrays import signed_bits, tensor_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("Shape", "tensorflow")
def _shape(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data = inputs[0].values if isinstance(inputs[0], Narrow) else inputs[0]
    return tf.constant(shape_part(data.shape, attributes), tf.int64)


@rule("Constant", "tensorflow")
def _constant(_inputs: Inputs, attributes: Attributes) -> Any:
    return tensor_of(constant_of(attributes))


@rule("ConstantOfShape", "tensorflow")
def _constant_of_shape(inputs: Inputs, attributes: Attributes) -> Any:
    value, shape = tensor_of(fill_value(attributes)), tf.constant(inputs[0], tf.int32)
    if isinstance(value, Narrow):
        return Narrow(tf.fill(shape, value.values), value.dtype)
    return tf.fill(shape, value)


@rule("Reshape", "tensorflow")
def _reshape(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.reshape(inputs[0], reshaped(inputs[0].shape, attributes, inputs[1]))


@rule("Transpose", "tensorflow")
@signed_bits
def _transpose(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.transpose(inputs[0], attributes.get("perm"))


@rule("Flatten", "tensorflow")
def _flatten(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.reshape(inputs[0], flattened(inputs[0].shape, attributes))


@rule("Expand", "tensorflow")
@signed_bits
def _expand(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.broadcast_to(inputs[0], broadcast_shape(inputs[0].shape, inputs[1]))


@rule("Tile", "tensorflow")
@signed_bits
def _tile(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.tile(inputs[0], tf.constant(inputs[1], tf.int32))


@rule("Concat", "tensorflow")
@signed_bits
def _concat(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.concat(inputs, axis=attributes["axis"])


@rule("Split", "tensorflow")
@signed_bits
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
    data, rank = inputs[0], len(inputs[0].shape) + len(inputs[1])
    for axis in sorted(counted(int(axis), rank) for axis in inputs[1]):
        data = tf.expand_dims(data, axis)
    return data


@rule("Slice", "tensorflow")
@signed_bits
def _slice(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    cuts = tuple(as_slice(places) for places in slice_ranges(inputs[0].shape, inputs[1:]))
    return inputs[0][cuts] if cuts else inputs[0]

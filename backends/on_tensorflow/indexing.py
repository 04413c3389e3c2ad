"""TensorFlow rules: values selected, and values put, by indices or conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..errors import UnsupportedError
from ..indexing import counted
from ..registry import rule
from ..static import unknown_values
from .arrays import indices_of, signed_bits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("Gather", "tensorflow")
@signed_bits
def _gather(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    axis = attributes.get("axis", 0)
    return tf.gather(inputs[0], indices_of(inputs[1], inputs[0].shape[axis]), axis=axis)


@rule("Where", "tensorflow")
@signed_bits
def _where(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.where(*inputs)


@rule("NonZero", "tensorflow")
def _non_zero(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    if not tf.executing_eagerly():
        raise UnsupportedError(unknown_values("NonZero", "tensorflow"))
    return tf.transpose(tf.where(tf.not_equal(inputs[0], tf.zeros((), inputs[0].dtype))))


@rule("TopK", "tensorflow")
def _top_k(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, tf.Tensor]:
    data, count, rank = inputs[0], int(inputs[1][0]), len(inputs[0].shape)
    axis = counted(attributes.get("axis", -1), rank)
    order = [*range(axis), *range(axis + 1, rank), axis]
    moved = data if axis == rank - 1 else tf.transpose(data, order)
    values, indices = _largest(moved, count) if attributes.get("largest", 1) else _smallest(moved, count)
    back = [order.index(place) for place in range(rank)]
    return tf.transpose(values, back), tf.transpose(tf.cast(indices, tf.int64), back)


def _largest(data: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    found = tf.math.top_k(data, count)
    return found.values, found.indices


def _smallest(data: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    turned = -data if data.dtype.is_floating else tf.bitwise.invert(data)
    indices = tf.math.top_k(tf.stop_gradient(turned), count).indices
    return tf.gather(data, indices, batch_dims=len(data.shape) - 1), indices

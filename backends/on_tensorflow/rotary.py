"""TensorFlow rule: rotary positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_RANK_WITH_HEADS = 4


@rule("RotaryEmbedding", "tensorflow")
def _rotary(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, places = inputs[0], optional(inputs, 3)
    flat = data.shape.rank != _RANK_WITH_HEADS
    heads = (
        tf.reshape(data, (*data.shape[:2], attributes["num_heads"], -1)) if flat else tf.transpose(data, (0, 2, 1, 3))
    )
    size = attributes.get("rotary_embedding_dim", 0) or heads.shape[-1]
    cos, sin = (tf.expand_dims(table if places is None else tf.gather(table, places), 2) for table in inputs[1:3])
    turned = _rotated(heads[..., :size], cos, sin, attributes)
    turned = tf.concat((turned, heads[..., size:]), axis=-1) if size < heads.shape[-1] else turned
    return tf.reshape(turned, data.shape) if flat else tf.transpose(turned, (0, 2, 1, 3))


def _rotated(data: tf.Tensor, cos: tf.Tensor, sin: tf.Tensor, attributes: Attributes) -> tf.Tensor:
    interleaved = bool(attributes.get("interleaved", 0))
    first, second = (data[..., 0::2], data[..., 1::2]) if interleaved else tf.split(data, 2, axis=-1)
    real, imaginary = first * cos - second * sin, first * sin + second * cos
    if interleaved:
        return tf.reshape(tf.stack((real, imaginary), axis=-1), data.shape)
    return tf.concat((real, imaginary), axis=-1)

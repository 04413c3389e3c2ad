"""TensorFlow rule: dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..dropping import drop, mask
from ..errors import UnsupportedError
from ..registry import rule
from ..values import Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@rule("Dropout", "tensorflow")
def _dropout(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[Any, tf.Tensor]:
    data, dropped = inputs[0], drop(inputs, attributes)
    carrier = data.values if isinstance(data, Narrow) else data
    if dropped is None:
        return data, tf.ones_like(carrier, dtype=tf.bool)
    if isinstance(data, Narrow):
        raise UnsupportedError(f"Dropout in training mode has no rule for {data.dtype} on tensorflow")
    if not tf.executing_eagerly():
        dropped.refuse_without_seed("tensorflow")
    kept = tf.constant(mask(dropped.ratio, dropped.seed, data.shape))
    return tf.where(kept, data / (1.0 - dropped.ratio), tf.zeros_like(data)), kept

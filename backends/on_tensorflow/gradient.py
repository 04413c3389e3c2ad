"""TensorFlow rule: the gradient of a part of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@rule("Gradient", "tensorflow")
def _gradient(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[tf.Tensor, ...]:
    count = len(attributes["xs"])
    # Tensors of their own: one may have been made of another.
    moving = [tf.identity(value) for value in inputs[:count]]
    with tf.GradientTape() as tape:
        tape.watch(moving)
        made = attributes["body"](*moving, *inputs[count:])[0]
    found = tape.gradient(made, moving, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return tuple(map(tf.convert_to_tensor, found))

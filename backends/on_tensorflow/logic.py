"""TensorFlow rules: comparisons, truth values and bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

from ..registry import rule
from ..values import Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_TWO: dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    "And": tf.logical_and,
    "BitwiseAnd": tf.bitwise.bitwise_and,
    "BitwiseOr": tf.bitwise.bitwise_or,
    "BitwiseXor": tf.bitwise.bitwise_xor,
    "Equal": tf.equal,
    "Greater": tf.greater,
    "GreaterOrEqual": tf.greater_equal,
    "Less": tf.less,
    "LessOrEqual": tf.less_equal,
    "Or": tf.logical_or,
    "Xor": tf.math.logical_xor,
}


def _register(op: str, function: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]) -> None:
    @rule(op, "tensorflow")
    def apply(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
        return function(inputs[0], inputs[1])


for _op, _function in _TWO.items():
    _register(_op, _function)


@rule("Not", "tensorflow")
def _not(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.logical_not(inputs[0])


@rule("BitwiseNot", "tensorflow")
def _bitwise_not(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.bitwise.invert(inputs[0])


@rule("BitShift", "tensorflow")
def _bit_shift(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    """Shift; a count that is negative or reaches the width leaves what the sign alone would."""
    data, count = inputs
    zero, width = tf.zeros_like(count), 8 * data.dtype.size
    inside = (count >= zero) & (count < tf.cast(width, count.dtype))
    safe = tf.where(inside, count, zero)
    if attributes["direction"] == "LEFT":
        return tf.where(inside, tf.bitwise.left_shift(data, safe), tf.zeros_like(data))
    sign = tf.where(data < tf.zeros_like(data), tf.bitwise.invert(tf.zeros_like(data)), tf.zeros_like(data))
    return tf.where(inside, tf.bitwise.right_shift(data, safe), sign)


@rule("IsInf", "tensorflow")
def _is_inf(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    value = inputs[0].values if isinstance(inputs[0], Narrow) else inputs[0]
    above = (value > 0.0) & bool(attributes.get("detect_positive", 1))
    below = (value < 0.0) & bool(attributes.get("detect_negative", 1))
    return tf.math.is_inf(value) & (above | below)


@rule("IsNaN", "tensorflow")
def _is_nan(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.math.is_nan(inputs[0].values if isinstance(inputs[0], Narrow) else inputs[0])

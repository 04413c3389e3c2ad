"""TensorFlow rules: elementary functions of one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_FUNCTIONS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "Acos": tf.acos,
    "Acosh": tf.acosh,
    "Asin": tf.asin,
    "Asinh": tf.asinh,
    "Atan": tf.atan,
    "Atanh": tf.atanh,
    "Ceil": tf.math.ceil,
    "Cos": tf.cos,
    "Cosh": tf.cosh,
    "Erf": tf.math.erf,
    "Exp": tf.exp,
    "Floor": tf.floor,
    "Log": tf.math.log,
    "Round": tf.round,
    "Sin": tf.sin,
    "Sinh": tf.sinh,
    "Sqrt": tf.sqrt,
    "Tan": tf.tan,
    "Tanh": tf.tanh,
}


def _register(op: str, function: Callable[[tf.Tensor], tf.Tensor]) -> None:
    @rule(op, "tensorflow")
    def apply(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
        value = tf.convert_to_tensor(inputs[0])
        if value.dtype.is_floating:
            return function(value)
        return tf.cast(function(tf.cast(value, tf.float64)), value.dtype)


for _op, _function in _FUNCTIONS.items():
    _register(_op, _function)


@rule("Identity", "tensorflow")
def _identity(inputs: Inputs, _attributes: Attributes) -> Any:
    return inputs[0]


@rule("Size", "tensorflow")
def _size(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.size(inputs[0], tf.int64)

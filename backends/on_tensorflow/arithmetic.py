"""TensorFlow rules: sums, products, quotients, powers and extremes of elements.

A Python number beside a tensor takes the tensor's dtype; `tf.cast` of one goes through float32, so it is not used.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_ONE: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {"Abs": tf.abs, "Neg": tf.negative, "Sign": tf.sign}
_TWO: dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    "Add": tf.add,
    "Mul": tf.multiply,
    "Sub": tf.subtract,
}


def _one(function: Callable[[tf.Tensor], tf.Tensor]) -> Callable[[Inputs, Attributes], tf.Tensor]:
    return lambda inputs, _attributes: in_signed(function, inputs[0])


def _two(function: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]) -> Callable[[Inputs, Attributes], tf.Tensor]:
    return lambda inputs, _attributes: function(inputs[0], inputs[1])


def in_signed(function: Callable[..., tf.Tensor], *values: tf.Tensor) -> tf.Tensor:
    """Apply a function that unsigned integers do not have; the 64 bits of signed ones hold what wraps around."""
    dtype = values[0].dtype
    if not dtype.is_unsigned:
        return function(*values)
    return tf.cast(function(*(tf.cast(value, tf.int64) for value in values)), dtype)


def where(condition: tf.Tensor, left: Any, right: Any) -> tf.Tensor:
    """Choose by a condition; one of the two choices may be a Python number."""
    dtype = left.dtype if tf.is_tensor(left) else right.dtype
    return tf.where(condition, tf.convert_to_tensor(left, dtype), tf.convert_to_tensor(right, dtype))


for _op, _single in _ONE.items():
    rule(_op, "tensorflow")(_one(_single))
for _op, _double in _TWO.items():
    rule(_op, "tensorflow")(_two(_double))


def _register_extreme(op: str, function: Callable[..., tf.Tensor]) -> None:
    def two(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        """Choose; of equals each gets half of the gradient."""
        chosen = function(left, right)
        if not left.dtype.is_floating:
            return chosen
        return tf.where(left == right, 0.5 * left + 0.5 * right, chosen)

    @rule(op, "tensorflow")
    def apply(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
        return functools.reduce(two, inputs)


_register_extreme("Max", tf.maximum)
_register_extreme("Min", tf.minimum)


@rule("Sum", "tensorflow")
def _sum(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return functools.reduce(tf.add, inputs)


@rule("Mean", "tensorflow")
def _mean(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return functools.reduce(tf.add, inputs) / len(inputs)


@rule("Div", "tensorflow")
def _div(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    """Divide; integers towards zero."""
    left, right = (tf.convert_to_tensor(value) for value in inputs)
    return left / right if left.dtype.is_floating else tf.truncatediv(left, right)


@rule("Reciprocal", "tensorflow")
def _reciprocal(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.math.reciprocal(inputs[0])


@rule("Mod", "tensorflow")
def _mod(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    left, right = inputs
    cut = bool(attributes.get("fmod", 0))
    if left.dtype.is_floating:
        return _remainder(left, right, cut=cut)
    return left - tf.truncatediv(left, right) * right if cut else tf.math.floormod(left, right)


def _remainder(left: tf.Tensor, right: tf.Tensor, *, cut: bool) -> tf.Tensor:
    """Return remainders, with the gradient that the framework lacks for those of a quotient that is cut."""
    shape = tf.broadcast_static_shape(left.shape, right.shape)
    left, right = (tf.broadcast_to(value, shape) for value in (left, right))

    def remainder(left: tf.Tensor, right: tf.Tensor) -> tuple[tf.Tensor, Callable[..., tuple[tf.Tensor, tf.Tensor]]]:
        made = _rest(left, right, cut=cut)
        return made, lambda upstream: (upstream, -upstream * tf.round((left - made) / right))

    return tf.custom_gradient(remainder)(left, right)


def _rest(left: tf.Tensor, right: tf.Tensor, *, cut: bool) -> tf.Tensor:
    """Return remainders, computed in float32 at least, which have the divisor's sign unless the quotient is cut."""
    wide, by = (tf.cast(value, tf.float32) if value.dtype.size < tf.float32.size else value for value in (left, right))
    rest = tf.truncatemod(wide, by)
    if not cut:
        rest = tf.where((rest != 0.0) & ((rest < 0.0) != (by < 0.0)), rest + by, rest)
        zero = tf.zeros_like(rest)
        rest = tf.where(rest == 0.0, tf.where(by < 0.0, -zero, zero), rest)
    return tf.cast(rest, left.dtype)


@rule("Pow", "tensorflow")
def _pow(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    base, exponent = (tf.convert_to_tensor(value) for value in inputs)
    if base.dtype.is_floating:
        return tf.pow(base, tf.cast(exponent, base.dtype))
    wide = tf.float64 if exponent.dtype.is_floating else tf.int64
    return tf.cast(tf.pow(tf.cast(base, wide), tf.cast(exponent, wide)), base.dtype)


@rule("Clip", "tensorflow")
def _clip(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return clipped(inputs[0], optional(inputs, 1), optional(inputs, 2))


def clipped(value: tf.Tensor, low: Any, high: Any) -> tf.Tensor:
    """Return a tensor within bounds, of which each may be None; on a bound itself the slope is one."""
    low, high = (None if bound is None else tf.convert_to_tensor(bound, value.dtype) for bound in (low, high))
    if low is not None:
        low = low if high is None else tf.minimum(low, high)
        value = tf.where(value < low, low, value)
    return value if high is None else tf.where(value > high, high, value)

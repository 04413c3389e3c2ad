"""JAX rules: comparisons, truth values and bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import jax.numpy as jnp

from ..registry import rule
from ..values import Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_TWO: dict[str, Callable[[Array, Array], Array]] = {
    "And": jnp.logical_and,
    "BitwiseAnd": jnp.bitwise_and,
    "BitwiseOr": jnp.bitwise_or,
    "BitwiseXor": jnp.bitwise_xor,
    "Equal": jnp.equal,
    "Greater": jnp.greater,
    "GreaterOrEqual": jnp.greater_equal,
    "Less": jnp.less,
    "LessOrEqual": jnp.less_equal,
    "Or": jnp.logical_or,
    "Xor": jnp.logical_xor,
}


def _register(op: str, function: Callable[[Array, Array], Array]) -> None:
    @rule(op, "jax")
    def apply(inputs: Inputs, _attributes: Attributes) -> Array:
        return function(inputs[0], inputs[1])


for _op, _function in _TWO.items():
    _register(_op, _function)


@rule("Not", "jax")
def _not(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.logical_not(inputs[0])


@rule("BitwiseNot", "jax")
def _bitwise_not(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.bitwise_not(inputs[0])


@rule("BitShift", "jax")
def _bit_shift(inputs: Inputs, attributes: Attributes) -> Array:
    """Shift; a count that is negative or reaches the width leaves what the sign alone would."""
    data, count = inputs
    inside = (count >= 0) & (count < 8 * data.dtype.itemsize)
    safe = jnp.where(inside, count, 0)
    if attributes["direction"] == "LEFT":
        return jnp.where(inside, data << safe, 0)
    sign = jnp.where(data < 0, ~jnp.zeros_like(data), 0)
    return jnp.where(inside, data >> safe, sign)


@rule("IsInf", "jax")
def _is_inf(inputs: Inputs, attributes: Attributes) -> Array:
    value = inputs[0].values if isinstance(inputs[0], Narrow) else inputs[0]
    above = jnp.isposinf(value) & bool(attributes.get("detect_positive", 1))
    return above | (jnp.isneginf(value) & bool(attributes.get("detect_negative", 1)))


@rule("IsNaN", "jax")
def _is_nan(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.isnan(inputs[0].values if isinstance(inputs[0], Narrow) else inputs[0])

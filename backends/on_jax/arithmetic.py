"""JAX rules: sums, products, quotients, powers and extremes of elements.

Numbers written in Python keep a tensor's dtype; numpy scalars would promote it, so there are none here.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable

import jax
import jax.numpy as jnp

from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_ONE: dict[str, Callable[[Array], Array]] = {
    "Abs": jnp.abs,
    "Neg": jnp.negative,
    "Reciprocal": jnp.reciprocal,
    "Sign": jnp.sign,
}
_TWO: dict[str, Callable[[Array, Array], Array]] = {"Add": jnp.add, "Mul": jnp.multiply, "Sub": jnp.subtract}
_MANY: dict[str, Callable[[Array, Array], Array]] = {"Max": jnp.maximum, "Min": jnp.minimum, "Sum": jnp.add}


def _one(function: Callable[[Array], Array]) -> Callable[[Inputs, Attributes], Array]:
    return lambda inputs, _attributes: function(inputs[0])


def _two(function: Callable[[Array, Array], Array]) -> Callable[[Inputs, Attributes], Array]:
    return lambda inputs, _attributes: function(inputs[0], inputs[1])


def _many(function: Callable[[Array, Array], Array]) -> Callable[[Inputs, Attributes], Array]:
    return lambda inputs, _attributes: functools.reduce(function, inputs)


for _op, _single in _ONE.items():
    rule(_op, "jax")(_one(_single))
for _op, _double in _TWO.items():
    rule(_op, "jax")(_two(_double))
for _op, _double in _MANY.items():
    rule(_op, "jax")(_many(_double))


@rule("Mean", "jax")
def _mean(inputs: Inputs, _attributes: Attributes) -> Array:
    return functools.reduce(jnp.add, inputs) / len(inputs)


@rule("Div", "jax")
def _div(inputs: Inputs, _attributes: Attributes) -> Array:
    """Divide; integers towards zero."""
    left, right = jnp.broadcast_arrays(*inputs)
    return jax.lax.div(left, right)


@rule("Mod", "jax")
def _mod(inputs: Inputs, attributes: Attributes) -> Array:
    left, right = inputs
    if attributes.get("fmod", 0):
        return jnp.fmod(left, right)
    rest = jnp.mod(left, right)
    return jnp.where(rest == 0, jnp.copysign(rest, right), rest) if jnp.issubdtype(rest.dtype, jnp.floating) else rest


@rule("Pow", "jax")
def _pow(inputs: Inputs, _attributes: Attributes) -> Array:
    base, exponent = (jnp.asarray(value) for value in inputs)
    if jnp.issubdtype(base.dtype, jnp.floating):
        return jnp.power(base, exponent).astype(base.dtype)
    wide = jnp.result_type(float) if jnp.issubdtype(exponent.dtype, jnp.floating) else base.dtype
    return jnp.power(base.astype(wide), exponent).astype(base.dtype)


@rule("Clip", "jax")
def _clip(inputs: Inputs, _attributes: Attributes) -> Array:
    return clipped(inputs[0], optional(inputs, 1), optional(inputs, 2))


def clipped(value: Array, low: Any, high: Any) -> Array:
    """Return a tensor within bounds, of which each may be None; on a bound itself the slope is one."""
    if low is not None:
        low = low if high is None else jnp.minimum(low, high)
        value = jnp.where(value < low, low, value)
    return value if high is None else jnp.where(value > high, high, value)

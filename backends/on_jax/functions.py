"""JAX rules: elementary functions of one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import jax
import jax.numpy as jnp

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "Acos": jnp.arccos,
    "Acosh": jnp.arccosh,
    "Asin": jnp.arcsin,
    "Asinh": jnp.arcsinh,
    "Atan": jnp.arctan,
    "Atanh": jnp.arctanh,
    "Ceil": jnp.ceil,
    "Cos": jnp.cos,
    "Cosh": jnp.cosh,
    "Erf": jax.scipy.special.erf,
    "Exp": jnp.exp,
    "Floor": jnp.floor,
    "Log": jnp.log,
    "Round": jnp.round,
    "Sin": jnp.sin,
    "Sinh": jnp.sinh,
    "Sqrt": jnp.sqrt,
    "Tan": jnp.tan,
    "Tanh": jnp.tanh,
}


def _register(op: str, function: Callable[[Array], Array]) -> None:
    @rule(op, "jax")
    def apply(inputs: Inputs, _attributes: Attributes) -> Array:
        value = jnp.asarray(inputs[0])
        if jnp.issubdtype(value.dtype, jnp.floating):
            return function(value)
        return function(value.astype(jnp.result_type(float))).astype(value.dtype)


for _op, _function in _FUNCTIONS.items():
    _register(_op, _function)


@rule("Identity", "jax")
def _identity(inputs: Inputs, _attributes: Attributes) -> Any:
    return inputs[0]


@rule("Size", "jax")
def _size(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.asarray(inputs[0].size, jnp.result_type(int))

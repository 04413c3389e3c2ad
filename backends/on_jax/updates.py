"""JAX rules: ONNX's optimizer operators."""

from __future__ import annotations

import functools

import jax.numpy as jnp

from ..registry import rule
from ..updating import Functions, adagrad, adam, momentum

_FUNCTIONS = Functions(jnp.sqrt, jnp.expm1, jnp.where, lambda value, like: value.astype(like.dtype))

for _op, _update in {"Adagrad": adagrad, "Adam": adam, "Momentum": momentum}.items():
    rule(_op, "jax")(functools.partial(_update, functions=_FUNCTIONS))

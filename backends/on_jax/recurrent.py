"""JAX rules: RNN, GRU, LSTM and linear attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..linear_attention import Extras, linear_attention
from ..recurrence import Functions, recurrent
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


def _flip(data: Array, lengths: Array | None) -> Array:
    if lengths is None:
        return jnp.flip(data, 0)
    steps = jnp.arange(data.shape[0], dtype=jnp.int32)[:, None]
    until = jnp.asarray(lengths, jnp.int32)[None, :]
    places = jnp.where(steps < until, until - 1 - steps, steps)
    return jnp.take_along_axis(data, places[..., None], axis=0)


def _live(steps: int, lengths: Array) -> Array:
    return (jnp.arange(steps)[:, None] < lengths[None, :])[..., None]


FUNCTIONS = Functions(
    target="jax",
    project=lambda value, matrix: value @ matrix.T,
    split=lambda value, parts: jnp.split(value, parts, axis=-1),
    clip=lambda value, limit: jnp.clip(value, -limit, limit),
    where=jnp.where,
    zeros=lambda shape, beside: jnp.zeros(shape, beside.dtype),
    transpose=jnp.transpose,
    stack=jnp.stack,
    flip=_flip,
    live=_live,
    scan=jax.lax.scan,
)
_EXTRAS = Extras(
    reshape=jnp.reshape,
    cast=lambda value, name: value.astype(name),
    name=lambda value: str(value.dtype.name),
    exp=jnp.exp,
    einsum=jnp.einsum,
)


@rule("RNN", "jax")
def _rnn(inputs: Inputs, attributes: Attributes) -> tuple[Array, ...]:
    return recurrent("RNN", inputs, attributes, FUNCTIONS)


@rule("GRU", "jax")
def _gru(inputs: Inputs, attributes: Attributes) -> tuple[Array, ...]:
    return recurrent("GRU", inputs, attributes, FUNCTIONS)


@rule("LSTM", "jax")
def _lstm(inputs: Inputs, attributes: Attributes) -> tuple[Array, ...]:
    return recurrent("LSTM", inputs, attributes, FUNCTIONS)


@rule("LinearAttention", "jax")
def _linear_attention(inputs: Inputs, attributes: Attributes) -> tuple[Array, Array]:
    return linear_attention(inputs, attributes, FUNCTIONS, _EXTRAS)

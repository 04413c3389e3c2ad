"""JAX rules: random numbers; `backends/drawing.py` says how they are seeded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from ..drawing import Draw, drawn
from ..registry import rule
from .casting import dtype_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_SEED = jax.ShapeDtypeStruct((), jnp.uint32)


def _key(seed: int | None) -> Array:
    """Return a key; without a seed the host draws one at each run, in a compiled program too."""
    return jax.random.key(io_callback(_fresh, _SEED) if seed is None else jnp.uint32(seed))


def _fresh() -> np.ndarray:
    return np.asarray(np.random.default_rng().integers(2**32, dtype=np.uint32))


def _values(op: str, shape: Sequence[int], draw: Draw) -> Array:
    function = jax.random.normal if "Normal" in op else jax.random.uniform
    made = function(_key(draw.seed), tuple(shape), draw.wide)
    return (made * draw.scale + draw.shift).astype(draw.dtype)


def _register(op: str) -> None:
    @rule(op, "jax")
    def apply(_inputs: Inputs, attributes: Attributes) -> Array:
        return _values(op, attributes["shape"], drawn(op, attributes))

    @rule(f"{op}Like", "jax")
    def apply_like(inputs: Inputs, attributes: Attributes) -> Array:
        data = inputs[0]
        return _values(op, data.shape, drawn(op, attributes, dtype_name(data)))


_register("RandomNormal")
_register("RandomUniform")


@rule("Bernoulli", "jax")
def _bernoulli(inputs: Inputs, attributes: Attributes) -> Array:
    data = inputs[0]
    draw = drawn("Bernoulli", attributes, dtype_name(data))
    chances = data if data.dtype == jnp.float64 else data.astype(jnp.float32)
    return (jax.random.uniform(_key(draw.seed), data.shape, chances.dtype) < chances).astype(draw.dtype)


@rule("Multinomial", "jax")
def _multinomial(inputs: Inputs, attributes: Attributes) -> Array:
    data, draw = inputs[0], drawn("Multinomial", attributes)
    weights = data if data.dtype == jnp.float64 else data.astype(jnp.float32)
    shape = (attributes.get("sample_size", 1), data.shape[0])
    return jax.random.categorical(_key(draw.seed), weights, axis=-1, shape=shape).T.astype(draw.dtype)

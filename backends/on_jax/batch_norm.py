"""JAX rule: normalisation over the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_EPSILON = 1e-5
_MOMENTUM = 0.9


@rule("BatchNormalization", "jax")
def _batch_norm(inputs: Inputs, attributes: Attributes) -> tuple[Array, ...]:
    data = inputs[0].astype(jnp.promote_types(inputs[0].dtype, jnp.float32))
    shape = (-1, *(1,) * (data.ndim - 2))
    scale, bias, mean, variance = (value.astype(data.dtype).reshape(shape) for value in inputs[1:])
    if not attributes.get("training_mode", 0):
        return (_normal(data - mean, variance, (scale, bias), attributes).astype(inputs[0].dtype),)
    axes = (0, *range(2, data.ndim))
    here = jnp.mean(data, axis=axes, keepdims=True)
    centred = data - here
    spread = jnp.mean(centred * centred, axis=axes, keepdims=True)
    normal = _normal(centred, spread, (scale, bias), attributes).astype(inputs[0].dtype)
    kept = attributes.get("momentum", _MOMENTUM)
    running = (old * kept + new.reshape(shape) * (1.0 - kept) for old, new in ((mean, here), (variance, spread)))
    return (normal, *(new.reshape(-1).astype(old.dtype) for new, old in zip(running, inputs[3:])))


def _normal(centred: Array, variance: Array, affine: tuple[Array, Array], attributes: Attributes) -> Array:
    scale, bias = affine
    return centred * (scale * lax.rsqrt(variance + attributes.get("epsilon", _EPSILON))) + bias

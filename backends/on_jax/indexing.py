"""JAX rules: values selected, and values put, by indices or conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..errors import UnsupportedError
from ..registry import rule
from ..static import unknown_values
from .arrays import cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("Gather", "jax")
def _gather(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.take(jnp.asarray(inputs[0]), jnp.asarray(inputs[1]), axis=attributes.get("axis", 0))


@rule("Where", "jax")
def _where(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.where(*inputs)


@rule("NonZero", "jax")
def _non_zero(inputs: Inputs, _attributes: Attributes) -> Array:
    if isinstance(inputs[0], jax.core.Tracer):
        raise UnsupportedError(unknown_values("NonZero", "jax"))
    if not inputs[0].shape:
        return jnp.zeros((0, int(inputs[0] != 0)), int)
    return cast(jnp.stack(jnp.nonzero(inputs[0])), "int64")


@rule("TopK", "jax")
def _top_k(inputs: Inputs, attributes: Attributes) -> Any:
    axis, count = attributes.get("axis", -1), int(inputs[1][0])
    data = jnp.moveaxis(inputs[0], axis, -1)
    if attributes.get("largest", 1):
        values, indices = jax.lax.top_k(data, count)
    else:
        turned = -data if jnp.issubdtype(data.dtype, jnp.inexact) else ~data
        indices = jax.lax.top_k(jax.lax.stop_gradient(turned), count)[1]
        values = jnp.take_along_axis(data, indices, -1)
    return jnp.moveaxis(values, -1, axis), jnp.moveaxis(cast(indices, "int64"), -1, axis)

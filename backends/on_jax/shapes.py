"""JAX rules: moving and selecting values."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from ..nodes import flattened, optional, reshaped, split_sizes
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("Gather", "jax")
def _gather(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.take(inputs[0], inputs[1], axis=attributes.get("axis", 0))


@rule("Reshape", "jax")
def _reshape(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.reshape(inputs[0], reshaped(inputs[0].shape, attributes, inputs[1]))


@rule("Transpose", "jax")
def _transpose(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.transpose(inputs[0], attributes.get("perm"))


@rule("Flatten", "jax")
def _flatten(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.reshape(inputs[0], flattened(inputs[0].shape, attributes))


@rule("Concat", "jax")
def _concat(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.concatenate(inputs, axis=attributes["axis"])


@rule("Split", "jax")
def _split(inputs: Inputs, attributes: Attributes) -> tuple[Array, ...]:
    axis = attributes.get("axis", 0)
    sizes = split_sizes(inputs[0].shape[axis], attributes, optional(inputs, 1))
    return tuple(jnp.split(inputs[0], list(accumulate(sizes))[:-1], axis=axis))


@rule("Squeeze", "jax")
def _squeeze(inputs: Inputs, _attributes: Attributes) -> Array:
    axes = optional(inputs, 1)
    return jnp.squeeze(inputs[0], None if axes is None else tuple(int(axis) for axis in axes))


@rule("Unsqueeze", "jax")
def _unsqueeze(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.expand_dims(inputs[0], tuple(int(axis) for axis in inputs[1]))

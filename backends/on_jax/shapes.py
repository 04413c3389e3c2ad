"""JAX rules: shapes, and tensors put together, cut or repeated."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from ..indexing import as_slice, broadcast_shape, constant_of, fill_value, shape_part, slice_ranges
from ..nodes import flattened, optional, reshaped, split_sizes
from ..registry import rule
from ..values import Narrow
from .arrays import tensor_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("Shape", "jax")
def _shape(inputs: Inputs, attributes: Attributes) -> Any:
    """A numpy array, which is known while tracing."""
    data = inputs[0].values if isinstance(inputs[0], Narrow) else inputs[0]
    return np.array(shape_part(data.shape, attributes), np.int64)


@rule("Constant", "jax")
def _constant(_inputs: Inputs, attributes: Attributes) -> Any:
    return tensor_of(constant_of(attributes))


@rule("ConstantOfShape", "jax")
def _constant_of_shape(inputs: Inputs, attributes: Attributes) -> Any:
    value, shape = tensor_of(fill_value(attributes)), inputs[0]
    if isinstance(value, Narrow):
        return Narrow(jnp.broadcast_to(value.values, shape), value.dtype)
    return jnp.broadcast_to(value, shape)


@rule("Reshape", "jax")
def _reshape(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.reshape(inputs[0], reshaped(inputs[0].shape, attributes, inputs[1]))


@rule("Transpose", "jax")
def _transpose(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.transpose(inputs[0], attributes.get("perm"))


@rule("Flatten", "jax")
def _flatten(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.reshape(inputs[0], flattened(inputs[0].shape, attributes))


@rule("Expand", "jax")
def _expand(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.broadcast_to(inputs[0], broadcast_shape(inputs[0].shape, inputs[1]))


@rule("Tile", "jax")
def _tile(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.tile(inputs[0], inputs[1])


@rule("Concat", "jax")
def _concat(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.concatenate([jnp.asarray(value) for value in inputs], axis=attributes["axis"])


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


@rule("Slice", "jax")
def _slice(inputs: Inputs, _attributes: Attributes) -> Any:
    return inputs[0][tuple(as_slice(places) for places in slice_ranges(inputs[0].shape, inputs[1:]))]

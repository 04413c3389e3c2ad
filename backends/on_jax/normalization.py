"""JAX rules: normalisation over axes of one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from ..nodes import normalized_axes, optional
from ..normalizing import EPSILON, grouped, neighbours, stash_dtype
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_TINY = 1e-9


@rule("LayerNormalization", "jax")
def _layer_norm(inputs: Inputs, attributes: Attributes) -> tuple[Array, ...]:
    data, scale, bias = inputs[0], inputs[1], optional(inputs, 2)
    wide = _stashed("LayerNormalization", data, attributes)
    normal, mean, inverse = _standard(wide, normalized_axes(data.ndim, attributes), attributes)
    scaled = normal.astype(data.dtype) * scale
    return (scaled if bias is None else scaled + bias), mean, inverse


def _standard(wide: Array, axes: Sequence[int], attributes: Attributes) -> tuple[Array, Array, Array]:
    """Return values of mean 0 and variance 1 over axes, the mean, and the inverse of the standard deviation."""
    mean = jnp.mean(wide, axis=axes, keepdims=True)
    centred = wide - mean
    variance = jnp.mean(centred * centred, axis=axes, keepdims=True)
    inverse = lax.rsqrt(variance + attributes.get("epsilon", EPSILON))
    return centred * inverse, mean, inverse


@rule("RMSNormalization", "jax")
def _rms_norm(inputs: Inputs, attributes: Attributes) -> Array:
    data, scale = inputs[0], inputs[1]
    wide, axes = _stashed("RMSNormalization", data, attributes), normalized_axes(data.ndim, attributes)
    square = jnp.mean(wide * wide, axis=axes, keepdims=True)
    normal = wide * lax.rsqrt(square + attributes.get("epsilon", EPSILON))
    return normal.astype(data.dtype).astype(scale.dtype) * scale


def _stashed(op: str, data: Array, attributes: Attributes) -> Array:
    return data.astype(stash_dtype(op, data.dtype.name, attributes))


def _wide(data: Array) -> Array:
    return data.astype(jnp.promote_types(data.dtype, jnp.float32))


@rule("GroupNormalization", "jax")
def _group_norm(inputs: Inputs, attributes: Attributes) -> Array:
    data, scale, bias = inputs
    wide = _stashed("GroupNormalization", data, attributes).reshape(grouped(data.shape, attributes["num_groups"]))
    normal = _standard(wide, range(2, wide.ndim), attributes)[0].reshape(data.shape).astype(data.dtype)
    return normal * _along_channels(scale, data) + _along_channels(bias, data)


@rule("InstanceNormalization", "jax")
def _instance_norm(inputs: Inputs, attributes: Attributes) -> Array:
    data, scale, bias = map(_wide, inputs)
    normal = _standard(data, range(2, data.ndim), attributes)[0]
    return (normal * _along_channels(scale, data) + _along_channels(bias, data)).astype(inputs[0].dtype)


def _along_channels(values: Array, data: Array) -> Array:
    return values.reshape((-1,) + (1,) * (data.ndim - 2))


@rule("MeanVarianceNormalization", "jax")
def _mean_variance_norm(inputs: Inputs, attributes: Attributes) -> Array:
    data, axes = _wide(inputs[0]), tuple(attributes.get("axes", (0, 2, 3)))
    centred = data - jnp.mean(data, axis=axes, keepdims=True)
    deviation = _safe_root(jnp.mean(centred * centred, axis=axes, keepdims=True))
    return (centred / (deviation + _TINY)).astype(inputs[0].dtype)


@rule("LpNormalization", "jax")
def _lp_norm(inputs: Inputs, attributes: Attributes) -> Array:
    data, axis = _wide(inputs[0]), attributes.get("axis", -1)
    if attributes.get("p", 2) == 1:
        norm = jnp.sum(jnp.abs(data), axis=axis, keepdims=True)
    else:
        norm = _safe_root(jnp.sum(data * data, axis=axis, keepdims=True))
    return (data / jnp.where(norm == 0, 1.0, norm)).astype(inputs[0].dtype)


def _safe_root(squares: Array) -> Array:
    """Return square roots; where one is 0 its gradient is."""
    nothing = squares == 0
    return jnp.where(nothing, 0.0, jnp.sqrt(jnp.where(nothing, 1.0, squares)))


@rule("LRN", "jax")
def _local_response_norm(inputs: Inputs, attributes: Attributes) -> Array:
    data, size = _wide(inputs[0]), attributes["size"]
    channels, around = data.shape[1], neighbours(data.shape[1], size)
    squares = jnp.pad(data * data, ((0, 0), around, *((0, 0),) * (data.ndim - 2)))
    sums = sum(squares[:, place : place + channels] for place in range(sum(around) + 1))
    base = attributes.get("bias", 1.0) + attributes.get("alpha", 1e-4) / size * sums
    return (data / base ** attributes.get("beta", 0.75)).astype(inputs[0].dtype)

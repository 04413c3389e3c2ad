"""JAX rules: convolution, pooling, normalisation and loss."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from ..nodes import normalized_axes, optional, paddings, window_slices
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_EPSILON = 1e-5


@rule("Conv", "jax")
def _conv(inputs: Inputs, attributes: Attributes) -> Array:
    data, weight, bias = inputs[0], inputs[1], optional(inputs, 2)
    rank = data.ndim - 2
    product = lax.conv_general_dilated(
        data,
        weight,
        attributes.get("strides") or (1,) * rank,
        paddings(data.shape[2:], weight.shape[2:], attributes),
        rhs_dilation=attributes.get("dilations") or (1,) * rank,
        feature_group_count=attributes.get("group", 1),
    )
    return product if bias is None else product + bias.reshape((-1,) + (1,) * rank)


@rule("MaxPool", "jax")
def _max_pool(inputs: Inputs, attributes: Attributes) -> Array:
    data, kernel = inputs[0], tuple(attributes["kernel_shape"])
    strides = tuple(attributes.get("strides") or (1,) * len(kernel))
    pads = ((0, 0), (0, 0), *paddings(data.shape[2:], kernel, attributes))
    if any(size != 1 for size in attributes.get("dilations") or ()):
        return _dilated_max_pool(jnp.pad(data, pads, constant_values=-jnp.inf), attributes)
    return lax.reduce_window(data, -jnp.inf, lax.max, (1, 1, *kernel), (1, 1, *strides), pads)


def _dilated_max_pool(data: Array, attributes: Attributes) -> Array:
    """Take the larger of each place of the window in turn: `reduce_window` has no gradient with dilation."""
    places = window_slices(data.shape[2:], attributes["kernel_shape"], attributes)
    return functools.reduce(_larger, (data[place] for place in places))


def _larger(left: Array, right: Array) -> Array:
    """Return the larger elements, the left of equal ones, and what is not a number."""
    return jnp.where((left >= right) | jnp.isnan(left), left, right)


@rule("GlobalAveragePool", "jax")
def _global_average_pool(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.mean(inputs[0], axis=tuple(range(2, inputs[0].ndim)), keepdims=True)


@rule("LayerNormalization", "jax")
def _layer_norm(inputs: Inputs, attributes: Attributes) -> tuple[Array, ...]:
    data, scale, bias = inputs[0], inputs[1], optional(inputs, 2)
    wide, axes = _at_least_float32(data), normalized_axes(data.ndim, attributes)
    mean = jnp.mean(wide, axis=axes, keepdims=True)
    centred = wide - mean
    variance = jnp.mean(centred * centred, axis=axes, keepdims=True)
    inverse = lax.rsqrt(variance + attributes.get("epsilon", _EPSILON))
    scaled = (centred * inverse).astype(data.dtype) * scale
    return (scaled if bias is None else scaled + bias), mean, inverse


@rule("RMSNormalization", "jax")
def _rms_norm(inputs: Inputs, attributes: Attributes) -> Array:
    data, scale = inputs[0], inputs[1]
    wide, axes = _at_least_float32(data), normalized_axes(data.ndim, attributes)
    square = jnp.mean(wide * wide, axis=axes, keepdims=True)
    return (wide * lax.rsqrt(square + attributes.get("epsilon", _EPSILON))).astype(data.dtype) * scale


def _at_least_float32(data: Array) -> Array:
    return data.astype(jnp.promote_types(data.dtype, jnp.float32))


@rule("SoftmaxCrossEntropyLoss", "jax")
def _cross_entropy(inputs: Inputs, attributes: Attributes) -> tuple[Array, Array]:
    scores, labels, weights = inputs[0], jnp.asarray(inputs[1]), optional(inputs, 2)
    log_probabilities = jax.nn.log_softmax(scores, axis=1)
    kept = labels != attributes["ignore_index"] if "ignore_index" in attributes else None
    safe = labels if kept is None else jnp.where(kept, labels, 0)
    picked = jnp.take_along_axis(log_probabilities, jnp.expand_dims(safe, 1), axis=1)
    losses, shares = -jnp.squeeze(picked, 1), None if weights is None else weights[safe]
    if kept is not None:
        losses = jnp.where(kept, losses, 0.0)
        shares = kept.astype(scores.dtype) if shares is None else jnp.where(kept, shares, 0.0)
    return _reduced(losses, shares, attributes.get("reduction", "mean")), log_probabilities


def _reduced(losses: Array, shares: Array | None, reduction: str) -> Array:
    weighted = losses if shares is None else losses * shares
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return jnp.sum(weighted)
    return jnp.mean(weighted) if shares is None else jnp.sum(weighted) / jnp.sum(shares)

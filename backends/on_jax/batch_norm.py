"""JAX rules: normalisation over the batch, channels first and last."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]
    Axes = tuple[int, ...]

_EPSILON = 1e-5
_MOMENTUM = 0.9


@rule("BatchNormalization", "jax")
def _batch_norm(inputs: Inputs, attributes: Attributes) -> tuple[Array, ...]:
    return _over(inputs, attributes, (0, *range(2, inputs[0].ndim)))


@rule("BatchNormalizationLast", "jax")
def _batch_norm_last(inputs: Inputs, attributes: Attributes) -> tuple[Array, ...]:
    return _over(inputs, attributes, (0, 1, 2))


def _over(inputs: Inputs, attributes: Attributes, axes: Axes) -> tuple[Array, ...]:
    data = inputs[0].astype(jnp.promote_types(inputs[0].dtype, jnp.float32))
    scale, bias, mean, variance = (value.astype(data.dtype) for value in inputs[1:])
    epsilon, kept = attributes.get("epsilon", _EPSILON), attributes.get("momentum", _MOMENTUM)
    if not attributes.get("training_mode", 0):
        factor = scale * lax.rsqrt(variance + epsilon)
        made = (data - _along(mean, data, axes)) * _along(factor, data, axes) + _along(bias, data, axes)
        return (made.astype(inputs[0].dtype),)
    normal, here, spread = _normalized(axes, epsilon, data, scale, bias)
    running = (mean * kept + here * (1.0 - kept), variance * kept + spread * (1.0 - kept))
    return (normal.astype(inputs[0].dtype), *(new.astype(old.dtype) for new, old in zip(running, inputs[3:])))


def _along(value: Array, data: Array, axes: Axes) -> Array:
    """Return one number per channel in a shape that goes with the data."""
    return value.reshape([1 if axis in axes else size for axis, size in enumerate(data.shape)])


def _total(data: Array, axes: Axes) -> Array:
    """Return one sum per channel; channels last, XLA for the CPU makes it faster as a product with ones."""
    if axes != tuple(range(data.ndim - 1)):
        return jnp.sum(data, axis=axes)
    rows = data.reshape(-1, data.shape[-1])
    return jnp.ones((rows.shape[0],), rows.dtype) @ rows


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _normalized(axes: Axes, epsilon: float, data: Array, scale: Array, bias: Array) -> tuple[Array, Array, Array]:
    """Return the data normalized, its mean and its variance (Ioffe and Szegedy, Batch Normalization, 2015).

    The gradients are those of its section 3, in two sums over the data instead of the four of the chain rule.
    """
    return _forward(axes, epsilon, data, scale, bias)[0]


def _forward(axes: Axes, epsilon: float, data: Array, scale: Array, bias: Array) -> tuple[Any, Any]:
    count = data.size // scale.size
    mean = _total(data, axes) / count
    centred = data - _along(mean, data, axes)
    variance = _total(centred * centred, axes) / count
    root = lax.rsqrt(variance + epsilon)
    made = centred * _along(scale * root, data, axes) + _along(bias, data, axes)
    return (made, mean, variance), (data, scale, mean, root)


def _backward(axes: Axes, _epsilon: float, held: Any, slopes: Any) -> tuple[Array, Array, Array]:
    data, scale, mean, root = held
    slope, of_mean, of_variance = slopes
    count = data.size // mean.size
    centred = data - _along(mean, data, axes)
    whole, along = _total(slope, axes), _total(slope * centred, axes)
    factor = scale * root
    shift = (of_mean - factor * whole) / count
    turn = (2.0 * of_variance - factor * root * root * along) / count
    back = slope * _along(factor, data, axes) + centred * _along(turn, data, axes) + _along(shift, data, axes)
    return back, along * root, whole


_normalized.defvjp(_forward, _backward)

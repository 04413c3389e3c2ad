"""JAX rules: images channels last, as `layout` writes them; kernels are (height, width, in, out)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from ..nodes import optional, paddings
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_EPSILON = 1e-5
_MOMENTUM = 0.9
_FORM = ("NHWC", "HWIO", "NHWC")


@rule("ConvLast", "jax")
def _conv(inputs: Inputs, attributes: Attributes) -> Array:
    data, kernel, bias = inputs[0], inputs[1], optional(inputs, 2)
    strides, pads = attributes.get("strides") or (1, 1), paddings(data.shape[1:3], kernel.shape[:2], attributes)
    product = lax.conv_general_dilated(data, kernel, strides, pads, dimension_numbers=_FORM)
    return product if bias is None else product + bias


@rule("MaxPoolLast", "jax")
def _max_pool(inputs: Inputs, attributes: Attributes) -> Array:
    data, kernel = inputs[0], tuple(attributes["kernel_shape"])
    strides = tuple(attributes.get("strides") or (1, 1))
    pads = ((0, 0), *paddings(data.shape[1:3], kernel, attributes), (0, 0))
    return lax.reduce_window(data, -jnp.inf, lax.max, (1, *kernel, 1), (1, *strides, 1), pads)


@rule("GlobalAveragePoolLast", "jax")
def _global_average_pool(inputs: Inputs, _attributes: Attributes) -> Array:
    return jnp.mean(inputs[0], axis=(1, 2))[:, :, None, None]


@rule("BatchNormalizationLast", "jax")
def _batch_norm(inputs: Inputs, attributes: Attributes) -> tuple[Array, ...]:
    data, scale, bias, mean, variance = inputs
    epsilon, kept = attributes.get("epsilon", _EPSILON), attributes.get("momentum", _MOMENTUM)
    if not attributes.get("training_mode", 0):
        return ((data - mean) * (scale * lax.rsqrt(variance + epsilon)) + bias,)
    here = jnp.mean(data, axis=(0, 1, 2))
    centred = data - here
    spread = jnp.mean(centred * centred, axis=(0, 1, 2))
    normal = centred * (scale * lax.rsqrt(spread + epsilon)) + bias
    return normal, mean * kept + here * (1.0 - kept), variance * kept + spread * (1.0 - kept)

"""JAX rules: convolutions of quantized numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from ..nodes import optional
from ..registry import rule
from .convolution import convolved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("ConvInteger", "jax")
def _conv_integer(inputs: Inputs, attributes: Attributes) -> Array:
    return _sums(inputs[:2], (optional(inputs, 2), optional(inputs, 3)), attributes)


@rule("QLinearConv", "jax")
def _quantized_conv(inputs: Inputs, attributes: Attributes) -> Array:
    data, data_scale, data_zero, weight, weight_scale, weight_zero, scale, zero = inputs[:8]
    sums = _sums((data, weight), (data_zero, weight_zero), attributes)
    shape, bias = (-1, *(1,) * (data.ndim - 2)), optional(inputs, 8)
    if bias is not None:
        sums = sums + bias.reshape(shape)
    # float64 where the process has it.
    wide = jnp.result_type(float)
    factor = data_scale.astype(wide) * weight_scale.astype(wide).reshape(shape) / scale.astype(wide)
    bounds = jnp.iinfo(zero.dtype)
    return jnp.clip(jnp.round(sums * factor) + zero.astype(wide), bounds.min, bounds.max).astype(zero.dtype)


def _sums(tensors: Sequence[Array], zeros: Sequence[Array | None], attributes: Attributes) -> Array:
    data, weight = (tensor.astype(jnp.int32) for tensor in tensors)
    if zeros[0] is not None:
        data = data - zeros[0].astype(jnp.int32)
    if zeros[1] is not None:
        weight = weight - zeros[1].astype(jnp.int32).reshape(-1, *(1,) * (weight.ndim - 1))
    return convolved(data, weight, attributes)

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

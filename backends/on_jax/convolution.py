"""JAX rules: convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from ..nodes import optional, paddings
from ..registry import rule
from ..windows import SILU, causal_activation, transposed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("Conv", "jax")
def _conv(inputs: Inputs, attributes: Attributes) -> Array:
    bias, product = optional(inputs, 2), convolved(inputs[0], inputs[1], attributes)
    return product if bias is None else product + _along_channels(bias, product)


def convolved(data: Array, weight: Array, attributes: Attributes) -> Array:
    """Return the convolution that the attributes of a `Conv` node state, without bias.

    Args:
        data: Of shape (batch, channels, spatial...).
        weight: Of shape (outputs, channels of a group, window...).
        attributes: The node's.
    """
    rank = data.ndim - 2
    return lax.conv_general_dilated(
        data,
        weight,
        attributes.get("strides") or (1,) * rank,
        paddings(data.shape[2:], weight.shape[2:], attributes),
        rhs_dilation=attributes.get("dilations") or (1,) * rank,
        feature_group_count=attributes.get("group", 1),
    )


def _along_channels(bias: Array, product: Array) -> Array:
    return bias.reshape((-1,) + (1,) * (product.ndim - 2))


@rule("ConvTranspose", "jax")
def _conv_transpose(inputs: Inputs, attributes: Attributes) -> Array:
    data, weight, bias = inputs[0], inputs[1], optional(inputs, 2)
    form, groups = transposed(data.shape[2:], weight.shape[2:], attributes), attributes.get("group", 1)
    spans = ((window - 1) * dilation for window, dilation in zip(form.kernel, form.dilations))
    product = lax.conv_general_dilated(
        data,
        _mirrored(weight, groups),
        (1,) * (data.ndim - 2),
        [(span - begin, span - end) for span, begin, end in zip(spans, form.begin, form.end)],
        lhs_dilation=form.strides,
        rhs_dilation=form.dilations,
        feature_group_count=groups,
    )
    return product if bias is None else product + _along_channels(bias, product)


def _mirrored(weight: Array, groups: int) -> Array:
    """Return the kernel of the convolution that a transposed one is: outputs first, and every axis turned round."""
    channels, outputs, *window = weight.shape
    split = weight.reshape(groups, channels // groups, outputs, *window).swapaxes(1, 2)
    return jnp.flip(split.reshape(groups * outputs, channels // groups, *window), axis=tuple(range(2, weight.ndim)))


@rule("CausalConvWithState", "jax")
def _causal_conv(inputs: Inputs, attributes: Attributes) -> tuple[Array, Array]:
    data, weight, bias, past = inputs[0], inputs[1], optional(inputs, 2), optional(inputs, 3)
    kept = weight.shape[2] - 1
    before = jnp.zeros((*data.shape[:2], kept), data.dtype) if past is None else past
    whole = jnp.concatenate((before, data), axis=2)
    made = convolved(whole, weight, {"group": weight.shape[0]})
    made = made if bias is None else made + _along_channels(bias, made)
    if causal_activation(attributes) == SILU:
        made = jax.nn.silu(made.astype(jnp.promote_types(made.dtype, jnp.float32))).astype(made.dtype)
    return made, whole[:, :, whole.shape[2] - kept :]

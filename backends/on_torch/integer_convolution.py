"""PyTorch rules: convolutions of quantized numbers. float64 holds every sum of their products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..nodes import optional
from ..registry import rule
from .convolution import convolved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("ConvInteger", "torch")
def _conv_integer(inputs: Inputs, attributes: Attributes) -> Any:
    sums = _sums(inputs[:2], (optional(inputs, 2), optional(inputs, 3)), attributes)
    return sums.to(torch.int64).to(torch.int32)


@rule("QLinearConv", "torch")
def _quantized_conv(inputs: Inputs, attributes: Attributes) -> Any:
    data, data_scale, data_zero, weight, weight_scale, weight_zero, scale, zero = inputs[:8]
    sums = _sums((data, weight), (data_zero, weight_zero), attributes)
    shape, bias = (-1, *(1,) * (data.dim() - 2)), optional(inputs, 8)
    if bias is not None:
        sums = sums + bias.double().reshape(shape)
    factor = data_scale.double() * weight_scale.double().reshape(shape) / scale.double()
    bounds = torch.iinfo(zero.dtype)
    return (torch.round(sums * factor) + zero.double()).clamp(bounds.min, bounds.max).to(zero.dtype)


def _sums(tensors: Sequence[Any], zeros: Sequence[Any], attributes: Attributes) -> Any:
    data, weight = (tensor.double() for tensor in tensors)
    if zeros[0] is not None:
        data = data - zeros[0].double()
    if zeros[1] is not None:
        weight = weight - zeros[1].double().reshape(-1, *(1,) * (weight.dim() - 1))
    return convolved(data, weight, None, attributes)

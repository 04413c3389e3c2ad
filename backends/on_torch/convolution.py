"""PyTorch rules: convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from ..nodes import optional, paddings
from ..registry import rule
from ..windows import SILU, causal_activation, spatial_rank, transposed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..windows import Transposed

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSED = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}


@rule("Conv", "torch")
def _conv(inputs: Inputs, attributes: Attributes) -> Any:
    return convolved(inputs[0], inputs[1], optional(inputs, 2), attributes)


def convolved(data: Any, weight: Any, bias: Any, attributes: Attributes) -> Any:
    """Return the convolution that the attributes of a `Conv` node state.

    Args:
        data: Of shape (batch, channels, spatial...).
        weight: Of shape (outputs, channels of a group, window...).
        bias: Of shape (outputs), or None.
        attributes: The node's.

    Raises:
        UnsupportedError: There are no spatial axes, or more than three.
    """
    rank = spatial_rank("Conv", "torch", weight.dim() - 2)
    strides, dilations = (attributes.get(name) or (1,) * rank for name in ("strides", "dilations"))
    data, padding = _padded(data, paddings(data.shape[2:], weight.shape[2:], attributes))
    return _CONVOLUTIONS[rank](data, weight, bias, strides, padding, dilations, attributes.get("group", 1))


def _padded(data: Any, pads: Sequence[tuple[int, int]]) -> tuple[Any, tuple[int, ...]]:
    """Leave even padding to the operator, and apply any other beforehand."""
    if all(begin == end for begin, end in pads):
        return data, tuple(begin for begin, _ in pads)
    return functional.pad(data, [width for pair in reversed(pads) for width in pair]), (0,) * len(pads)


@rule("ConvTranspose", "torch")
def _conv_transpose(inputs: Inputs, attributes: Attributes) -> Any:
    data, weight, bias = inputs[0], inputs[1], optional(inputs, 2)
    rank = spatial_rank("ConvTranspose", "torch", weight.dim() - 2)
    form, function, groups = (
        transposed(data.shape[2:], weight.shape[2:], attributes),
        _TRANSPOSED[rank],
        attributes.get("group", 1),
    )
    if _even(form):
        extra = tuple(begin - end for begin, end in zip(form.begin, form.end))
        return function(data, weight, bias, form.strides, form.begin, extra, groups, form.dilations)
    whole = function(data, weight, None, form.strides, 0, 0, groups, form.dilations)
    # A negative width cuts off.
    kept = functional.pad(whole, [-width for pair in reversed(tuple(zip(form.begin, form.end))) for width in pair])
    return kept if bias is None else kept + bias.reshape(-1, *(1,) * rank)


def _even(form: Transposed) -> bool:
    """Say whether the framework's own padding, the same on both sides, and a little more output give the form."""
    limits = (max(pair) for pair in zip(form.strides, form.dilations))
    return all(begin >= 0 and 0 <= begin - end < most for begin, end, most in zip(form.begin, form.end, limits))


@rule("CausalConvWithState", "torch")
def _causal_conv(inputs: Inputs, attributes: Attributes) -> tuple[Any, Any]:
    data, weight, bias, past = inputs[0], inputs[1], optional(inputs, 2), optional(inputs, 3)
    kept = weight.shape[2] - 1
    whole = functional.pad(data, (kept, 0)) if past is None else torch.cat((past, data), dim=2)
    made = functional.conv1d(whole, weight, bias, groups=weight.shape[0])
    if causal_activation(attributes) == SILU:
        made = functional.silu(made.to(torch.promote_types(made.dtype, torch.float32))).to(made.dtype)
    return made, whole[:, :, whole.shape[2] - kept :]

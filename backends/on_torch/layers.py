"""PyTorch rules: linear, convolution, normalisation and loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the framework's own customary name

from ..nodes import normalized_axes, optional, paddings
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_EPSILON = 1e-5
# What the framework takes for a label that marks nothing as ignored.
_NO_LABEL = -100
_POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


@rule("Gemm", "torch")
def _gemm(inputs: Inputs, attributes: Attributes) -> Any:
    left = inputs[0].t() if attributes.get("transA", 0) else inputs[0]
    right = inputs[1].t() if attributes.get("transB", 0) else inputs[1]
    alpha, addend = attributes.get("alpha", 1.0), optional(inputs, 2)
    if addend is not None:
        return torch.addmm(addend, left, right, beta=attributes.get("beta", 1.0), alpha=alpha)
    return alpha * (left @ right) if alpha != 1.0 else left @ right


@rule("Conv", "torch")
def _conv(inputs: Inputs, attributes: Attributes) -> Any:
    data, weight = inputs[0], inputs[1]
    rank = weight.dim() - 2
    strides, dilations = (attributes.get(name) or (1,) * rank for name in ("strides", "dilations"))
    data, padding = _padded(data, paddings(data.shape[2:], weight.shape[2:], attributes), 0.0)
    group = attributes.get("group", 1)
    return _CONVOLUTIONS[rank](data, weight, optional(inputs, 2), strides, padding, dilations, group)


@rule("MaxPool", "torch")
def _max_pool(inputs: Inputs, attributes: Attributes) -> Any:
    data, kernel = inputs[0], attributes["kernel_shape"]
    rank = len(kernel)
    strides, dilations = (attributes.get(name) or (1,) * rank for name in ("strides", "dilations"))
    pads = paddings(data.shape[2:], kernel, attributes)
    data, padding = _padded(data, pads, float("-inf"), tuple(size // 2 for size in kernel))
    return _POOLS[rank](data, kernel, strides, padding, dilations)


@rule("GlobalAveragePool", "torch")
def _global_average_pool(inputs: Inputs, _attributes: Attributes) -> Any:
    return inputs[0].mean(dim=tuple(range(2, inputs[0].dim())), keepdim=True)


def _padded(
    data: Any,
    pads: Sequence[tuple[int, int]],
    value: float,
    largest: tuple[int, ...] | None = None,
) -> tuple[Any, tuple[int, ...]]:
    """Leave even padding to the operator, and apply any other beforehand."""
    even = all(begin == end for begin, end in pads)
    if even and (largest is None or all(begin <= most for (begin, _), most in zip(pads, largest))):
        return data, tuple(begin for begin, _ in pads)
    flat = [width for pair in reversed(pads) for width in pair]
    return F.pad(data, flat, value=value), (0,) * len(pads)


@rule("LayerNormalization", "torch")
def _layer_norm(inputs: Inputs, attributes: Attributes) -> tuple[Any, ...]:
    data, scale, bias = inputs[0], inputs[1], optional(inputs, 2)
    shape, epsilon = _normalized_shape(data, attributes), attributes.get("epsilon", _EPSILON)
    if tuple(scale.shape) == shape and (bias is None or tuple(bias.shape) == shape):
        return tuple(torch.native_layer_norm(data, shape, scale, bias, epsilon))
    normal, mean, inverse = torch.native_layer_norm(data, shape, None, None, epsilon)
    scaled = normal * scale
    return (scaled if bias is None else scaled + bias), mean, inverse


@rule("RMSNormalization", "torch")
def _rms_norm(inputs: Inputs, attributes: Attributes) -> Any:
    data, scale = inputs[0], inputs[1]
    shape, epsilon = _normalized_shape(data, attributes), attributes.get("epsilon", _EPSILON)
    if tuple(scale.shape) == shape:
        return F.rms_norm(data, shape, scale, epsilon)
    return F.rms_norm(data, shape, None, epsilon) * scale


def _normalized_shape(data: Any, attributes: Attributes) -> tuple[int, ...]:
    return tuple(data.shape[axis] for axis in normalized_axes(data.dim(), attributes))


@rule("SoftmaxCrossEntropyLoss", "torch")
def _cross_entropy(inputs: Inputs, attributes: Attributes) -> tuple[Any, Any]:
    log_probabilities, labels, weights = F.log_softmax(inputs[0], dim=1), inputs[1].long(), optional(inputs, 2)
    ignored, reduction = attributes.get("ignore_index", _NO_LABEL), attributes.get("reduction", "mean")
    if weights is None:
        loss = F.nll_loss(log_probabilities, labels, ignore_index=ignored, reduction=reduction)
        return loss, log_probabilities
    losses = F.nll_loss(log_probabilities, labels, ignore_index=ignored, reduction="none")
    # The framework's own weighting has no gradient with respect to the weights.
    shares = torch.where(labels == ignored, 0.0, weights[torch.where(labels == ignored, 0, labels)])
    return _reduced(losses * shares, shares, reduction), log_probabilities


def _reduced(losses: Any, shares: Any, reduction: str) -> Any:
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / shares.sum()

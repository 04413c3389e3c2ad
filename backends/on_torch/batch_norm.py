"""PyTorch rule: normalisation over the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_EPSILON = 1e-5
_MOMENTUM = 0.9


@rule("BatchNormalization", "torch")
def _batch_norm(inputs: Inputs, attributes: Attributes) -> tuple[Any, ...]:
    data, epsilon = inputs[0], attributes.get("epsilon", _EPSILON)
    wide = torch.promote_types(data.dtype, torch.float32)
    scale, bias, mean, variance = (value.to(wide) for value in inputs[1:])
    if not attributes.get("training_mode", 0):
        return (_by_given(data.to(wide), (scale, bias, mean, variance), epsilon).to(data.dtype),)
    normal, found = _by_batch(data.to(wide), scale, bias, epsilon)
    kept = attributes.get("momentum", _MOMENTUM)
    running = (old * kept + new * (1.0 - kept) for old, new in zip((mean, variance), found))
    return (normal.to(data.dtype), *(new.to(old.dtype) for new, old in zip(running, inputs[3:])))


def _by_given(data: Any, parameters: Sequence[Any], epsilon: float) -> Any:
    """Normalise by given statistics; the framework's own function has no gradient with respect to them."""
    scale, bias, mean, variance = parameters
    if not (mean.requires_grad or variance.requires_grad):
        return functional.batch_norm(data, mean, variance, scale, bias, training=False, eps=epsilon)
    shape = (-1, *(1,) * (data.dim() - 2))
    factor = (scale * torch.rsqrt(variance + epsilon)).reshape(shape)
    return (data - mean.reshape(shape)) * factor + bias.reshape(shape)


def _by_batch(data: Any, scale: Any, bias: Any, epsilon: float) -> tuple[Any, tuple[Any, Any]]:
    """Normalise by the batch's own statistics, and return them; the variance is the population's.

    The framework leaves mean and unbiased variance in buffers: with a momentum of 1 nothing else is in them.
    """
    count = data.numel() // data.shape[1]
    mean, variance = torch.zeros_like(scale), torch.zeros_like(scale)
    if count == 1:
        shape = (1, -1, *(1,) * (data.dim() - 2))
        return (data - data) * scale.reshape(shape) + bias.reshape(shape), (data.detach().reshape(-1), variance)
    normal = functional.batch_norm(data, mean, variance, scale, bias, training=True, momentum=1.0, eps=epsilon)
    return normal, (mean, variance * ((count - 1) / count))

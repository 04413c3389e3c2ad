"""PyTorch rules: normalisation over axes of one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from ..nodes import normalized_axes, optional
from ..normalizing import EPSILON, grouped, neighbours, stash_dtype
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_TINY = 1e-9


@rule("LayerNormalization", "torch")
def _layer_norm(inputs: Inputs, attributes: Attributes) -> tuple[Any, ...]:
    data, scale, bias = inputs[0], inputs[1], optional(inputs, 2)
    shape, wide = _normalized_shape(data, attributes), data.to(_stash("LayerNormalization", data, attributes))
    if any(attributes.get("outputs", ())[1:]):
        normal, *statistics = _standard(wide, tuple(range(-len(shape), 0)), attributes)
        return (_scaled(normal.to(data.dtype), scale, bias), *statistics)
    epsilon = attributes.get("epsilon", EPSILON)
    whole = all(value is None or tuple(value.shape) == shape for value in (scale, bias))
    if whole and wide.dtype == scale.dtype == data.dtype:
        return (functional.layer_norm(data, shape, scale, bias, epsilon),)
    return (_scaled(functional.layer_norm(wide, shape, None, None, epsilon).to(data.dtype), scale, bias),)


def _scaled(normal: Any, scale: Any, bias: Any) -> Any:
    return normal * scale if bias is None else normal * scale + bias


def _standard(wide: Any, axes: tuple[int, ...], attributes: Attributes) -> tuple[Any, Any, Any]:
    """Return values of mean 0 and variance 1 over axes, the mean, and the inverse of the standard deviation.

    The framework's own function has no gradient of the latter two.
    """
    mean = wide.mean(dim=axes, keepdim=True)
    centred = wide - mean
    inverse = torch.rsqrt((centred * centred).mean(dim=axes, keepdim=True) + attributes.get("epsilon", EPSILON))
    return centred * inverse, mean, inverse


@rule("RMSNormalization", "torch")
def _rms_norm(inputs: Inputs, attributes: Attributes) -> Any:
    data, scale = inputs[0], inputs[1]
    shape, epsilon = _normalized_shape(data, attributes), attributes.get("epsilon", EPSILON)
    wide = data.to(_stash("RMSNormalization", data, attributes))
    if tuple(scale.shape) == shape and wide.dtype == scale.dtype == data.dtype:
        return functional.rms_norm(data, shape, scale, epsilon)
    return functional.rms_norm(wide, shape, None, epsilon).to(data.dtype).to(scale.dtype) * scale


def _normalized_shape(data: Any, attributes: Attributes) -> tuple[int, ...]:
    return tuple(data.shape[axis] for axis in normalized_axes(data.dim(), attributes))


def _stash(op: str, data: Any, attributes: Attributes) -> torch.dtype:
    name = stash_dtype(op, str(data.dtype).removeprefix("torch."), attributes)
    found: torch.dtype = getattr(torch, name)
    return found


@rule("GroupNormalization", "torch")
def _group_norm(inputs: Inputs, attributes: Attributes) -> Any:
    data, scale, bias = inputs
    groups, epsilon = attributes["num_groups"], attributes.get("epsilon", EPSILON)
    grouped(data.shape, groups)
    wide = data.to(_stash("GroupNormalization", data, attributes))
    if wide.dtype == data.dtype:
        return functional.group_norm(data, groups, scale, bias, epsilon)
    shape = (-1, *(1,) * (data.dim() - 2))
    return functional.group_norm(wide, groups, None, None, epsilon).to(data.dtype) * scale.reshape(
        shape
    ) + bias.reshape(shape)


@rule("InstanceNormalization", "torch")
def _instance_norm(inputs: Inputs, attributes: Attributes) -> Any:
    wide = torch.promote_types(inputs[0].dtype, torch.float32)
    data, scale, bias = (value.to(wide) for value in inputs)
    return functional.group_norm(data, data.shape[1], scale, bias, attributes.get("epsilon", EPSILON)).to(
        inputs[0].dtype
    )


@rule("MeanVarianceNormalization", "torch")
def _mean_variance_norm(inputs: Inputs, attributes: Attributes) -> Any:
    data = inputs[0].to(torch.promote_types(inputs[0].dtype, torch.float32))
    axes = attributes.get("axes", (0, 2, 3))
    centred = data - data.mean(dim=axes, keepdim=True)
    deviation = _safe_root((centred * centred).mean(dim=axes, keepdim=True))
    return (centred / (deviation + _TINY)).to(inputs[0].dtype)


@rule("LpNormalization", "torch")
def _lp_norm(inputs: Inputs, attributes: Attributes) -> Any:
    data, axis = inputs[0].to(torch.promote_types(inputs[0].dtype, torch.float32)), attributes.get("axis", -1)
    if attributes.get("p", 2) == 1:
        norm = data.abs().sum(dim=axis, keepdim=True)
    else:
        norm = _safe_root((data * data).sum(dim=axis, keepdim=True))
    return (data / torch.where(norm == 0, 1.0, norm)).to(inputs[0].dtype)


def _safe_root(squares: Any) -> Any:
    """Return square roots; where one is 0 its gradient is."""
    nothing = squares == 0
    return torch.where(nothing, 0.0, torch.where(nothing, 1.0, squares).sqrt())


@rule("LRN", "torch")
def _local_response_norm(inputs: Inputs, attributes: Attributes) -> Any:
    """Written out: the framework's own takes one channel more before and not after where `size` is even."""
    data, size = inputs[0].to(torch.promote_types(inputs[0].dtype, torch.float32)), attributes["size"]
    channels, around = data.shape[1], neighbours(data.shape[1], size)
    squares = functional.pad(data * data, (*(0, 0) * (data.dim() - 2), *around))
    sums = sum(squares[:, place : place + channels] for place in range(sum(around) + 1))
    base = attributes.get("bias", 1.0) + attributes.get("alpha", 1e-4) / size * sums
    return (data / base ** attributes.get("beta", 0.75)).to(inputs[0].dtype)

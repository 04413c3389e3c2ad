"""PyTorch rules: pooling."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from ..nodes import optional
from ..registry import rule
from ..windows import shares, spatial_rank, unpooled, windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..windows import Windows

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_AVERAGES = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}
_MAXIMA = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}


def _windows(op: str, data: Any, attributes: Attributes) -> Windows:
    spatial_rank(op, "torch", data.dim() - 2)
    return windows(data.shape[2:], attributes["kernel_shape"], attributes)


def _padded(data: Any, form: Windows, value: float) -> tuple[Any, tuple[int, ...]]:
    """Leave padding to the operator that is even and at most half a window, and apply any other beforehand."""
    if all(begin == end <= size // 2 for (begin, end), size in zip(form.pads, form.kernel)):
        return data, tuple(begin for begin, _ in form.pads)
    flat = [width for pair in reversed(form.pads) for width in pair]
    return functional.pad(data, flat, value=value), (0,) * form.rank


@rule("MaxPool", "torch")
def _max_pool(inputs: Inputs, attributes: Attributes) -> Any:
    data, form = inputs[0], _windows("MaxPool", inputs[0], attributes)
    if not data.is_floating_point():
        made = _max_pool((data.float(), *inputs[1:]), attributes)
        return (made[0].to(data.dtype), made[1]) if isinstance(made, tuple) else made.to(data.dtype)
    if len(attributes.get("outputs", ())) > 1:
        return _largest(data, form, column_major=bool(attributes.get("storage_order", 0)))
    padded, padding = _padded(data, form, float("-inf"))
    return _MAXIMA[form.rank](padded, form.kernel, form.strides, padding, form.dilations)


def _largest(data: Any, form: Windows, *, column_major: bool) -> tuple[Any, Any]:
    """Return the largest elements, the first of equal ones, and where they are in the flattened tensor."""
    flat = [width for pair in reversed(form.pads) for width in pair]
    padded = functional.pad(data, flat, value=float("-inf"))
    seen = torch.stack([padded[place] for place in form.slices()])
    values, chosen = seen.max(dim=0)
    places = torch.as_tensor(form.flat_places(column_major=column_major), device=data.device)
    within = places[:, None, None].expand(seen.shape).gather(0, chosen[None])[0]
    images = torch.arange(data.shape[0] * data.shape[1], device=data.device) * math.prod(form.sizes)
    return values, within + images.reshape(*data.shape[:2], *(1,) * form.rank)


@rule("AveragePool", "torch")
def _average_pool(inputs: Inputs, attributes: Attributes) -> Any:
    data, form = inputs[0], _windows("AveragePool", inputs[0], attributes)
    factor = shares(form.kernel, form.counts(padding=bool(attributes.get("count_include_pad", 0))))
    mean = _mean(data, form)
    return mean if factor is None else mean * torch.as_tensor(factor, dtype=data.dtype, device=data.device)


def _mean(data: Any, form: Windows) -> Any:
    """Return the mean over every place of each window, padding included."""
    if set(form.dilations) == {1}:
        padded, padding = _padded(data, form, 0.0)
        return _AVERAGES[form.rank](padded, form.kernel, form.strides, padding)
    padded = functional.pad(data, [width for pair in reversed(form.pads) for width in pair])
    return functools.reduce(torch.add, (padded[place] for place in form.slices())) / math.prod(form.kernel)


@rule("LpPool", "torch")
def _lp_pool(inputs: Inputs, attributes: Attributes) -> Any:
    data, form, power = inputs[0], _windows("LpPool", inputs[0], attributes), attributes.get("p", 2)
    return _root(_mean(_powers(data, power), form) * math.prod(form.kernel), power).to(data.dtype)


@rule("GlobalLpPool", "torch")
def _global_lp_pool(inputs: Inputs, attributes: Attributes) -> Any:
    data, power = inputs[0], attributes.get("p", 2)
    sums = _powers(data, power).sum(dim=tuple(range(2, data.dim())), keepdim=True)
    return _root(sums, power).to(data.dtype)


def _powers(data: Any, power: int) -> Any:
    wide = data.to(torch.promote_types(data.dtype, torch.float32))
    return wide.abs() if power == 1 else wide.abs() ** power


def _root(sums: Any, power: int) -> Any:
    """Return the root of sums; where a sum is 0 its gradient is."""
    if power == 1:
        return sums
    nothing = sums == 0
    return torch.where(nothing, 0.0, torch.where(nothing, 1.0, sums) ** (1.0 / power))


@rule("GlobalAveragePool", "torch")
def _global_average_pool(inputs: Inputs, _attributes: Attributes) -> Any:
    return inputs[0].mean(dim=tuple(range(2, inputs[0].dim())), keepdim=True)


@rule("GlobalMaxPool", "torch")
def _global_max_pool(inputs: Inputs, _attributes: Attributes) -> Any:
    return inputs[0].amax(dim=tuple(range(2, inputs[0].dim())), keepdim=True)


@rule("MaxUnpool", "torch")
def _max_unpool(inputs: Inputs, attributes: Attributes) -> Any:
    data, places, wanted = inputs[0], inputs[1], optional(inputs, 2)
    shape = unpooled(data.shape, attributes)
    flat = torch.zeros(math.prod(shape), dtype=data.dtype, device=data.device)
    made = flat.scatter(0, places.reshape(-1), data.reshape(-1)).reshape(shape)
    if wanted is None:
        return made
    grown = [int(want) - size for want, size in zip(wanted, shape)]
    return functional.pad(made, [width for more in reversed(grown) for width in (0, more)])

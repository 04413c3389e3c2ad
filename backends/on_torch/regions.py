"""PyTorch rule: pooling of regions of interest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@rule("MaxRoiPool", "torch")
def _max_roi_pool(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Take the largest element of each bin (Girshick, Fast R-CNN, 2015, section 2.1); an empty bin gives 0."""
    data, regions = inputs[0], inputs[1].to(torch.promote_types(inputs[1].dtype, torch.float32))
    corners = regions[:, 1:] * attributes.get("spatial_scale", 1.0)
    corners = torch.trunc(corners + torch.copysign(torch.tensor(0.5, dtype=corners.dtype), corners))
    rows, columns = (
        _bins(corners[:, axis], corners[:, axis + 2], count, size)
        for axis, count, size in zip((1, 0), attributes["pooled_shape"], data.shape[2:])
    )
    inside = rows[:, :, None, :, None] & columns[:, None, :, None, :]
    seen = data[regions[:, 0].long()][:, :, None, None]
    low = torch.finfo(data.dtype).min
    made = torch.where(inside[:, None], seen, low).amax(dim=(4, 5))
    return torch.where(inside.any(dim=4).any(dim=3)[:, None], made, 0.0)


def _bins(start: Any, end: Any, count: int, size: int) -> Any:
    """Return which elements along an axis each bin of each region holds: bool of shape (regions, bins, elements)."""
    width = (end - start + 1.0).clamp(min=1.0) / count
    order = torch.arange(count, dtype=start.dtype, device=start.device)
    first = (torch.floor(order * width[:, None]) + start[:, None]).clamp(0, size)
    last = (torch.ceil((order + 1.0) * width[:, None]) + start[:, None]).clamp(0, size)
    places = torch.arange(size, dtype=start.dtype, device=start.device)
    return (places >= first[..., None]) & (places < last[..., None])

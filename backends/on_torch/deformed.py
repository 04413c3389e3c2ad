"""PyTorch rule: convolution of windows whose places are moved by offsets (Dai et al., 2017)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from ..deforming import deformed
from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..deforming import Deformed


@rule("DeformConv", "torch")
def _deform_conv(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    data, weight, bias, mask = inputs[0], inputs[1], optional(inputs, 3), optional(inputs, 4)
    form = deformed(data.shape, weight.shape, attributes)
    shape = (data.shape[0], form.offset_groups, form.places, len(form.sizes), math.prod(form.out))
    base = torch.as_tensor(form.base, dtype=data.dtype, device=data.device)
    where = inputs[2].reshape(shape).movedim(3, 0) + base[:, None, None]
    seen = _sampled(data, where, form)
    if mask is not None:
        seen = seen * mask.reshape(shape[0], form.offset_groups, 1, form.places, -1)
    columns = seen.reshape(shape[0], form.groups, -1, shape[4])
    kernels = weight.reshape(form.groups, weight.shape[0] // form.groups, -1)
    made = torch.einsum("gok,ngkp->ngop", kernels, columns).reshape(shape[0], weight.shape[0], *form.out)
    return made if bias is None else made + bias.reshape(-1, *(1,) * len(form.out))


def _sampled(data: Any, where: Any, form: Deformed) -> Any:
    """Interpolate linearly; what lies outside is 0.

    Args:
        data: Of shape (batch, channels, spatial...).
        where: Of shape (axes, batch, offset groups, places, outputs).
        form: The sizes.

    Returns:
        Of shape (batch, offset groups, channels of a group, places, outputs).
    """
    batch, groups, places, out = where.shape[1:]
    images = data.reshape(batch, groups, -1, math.prod(form.sizes))
    low = where.detach().floor()
    total = torch.zeros((), dtype=data.dtype, device=data.device)
    for corner in form.corners:
        index = torch.zeros_like(low[0], dtype=torch.int64)
        share = torch.ones_like(where[0])
        for axis, side in enumerate(corner):
            place, size = low[axis] + side, form.sizes[axis]
            share = share * (1.0 - (where[axis] - place).abs()) * ((place >= 0) & (place < size))
            index = index + place.clamp(0, size - 1).long() * form.steps[axis]
        flat = index.reshape(batch, groups, 1, places * out).expand(-1, -1, images.shape[2], -1)
        total = total + images.gather(3, flat).reshape(batch, groups, -1, places, out) * share[:, :, None]
    return total

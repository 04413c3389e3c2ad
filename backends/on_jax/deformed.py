"""JAX rule: convolution of windows whose places are moved by offsets (Dai et al., 2017)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from ..deforming import deformed
from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    from ..deforming import Deformed


@rule("DeformConv", "jax")
def _deform_conv(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Array:
    data, weight, bias, mask = inputs[0], inputs[1], optional(inputs, 3), optional(inputs, 4)
    form = deformed(data.shape, weight.shape, attributes)
    shape = (data.shape[0], form.offset_groups, form.places, len(form.sizes), math.prod(form.out))
    base = jnp.asarray(form.base.astype(data.dtype))
    seen = _sampled(data, jnp.moveaxis(inputs[2].reshape(shape), 3, 0) + base[:, None, None], form)
    if mask is not None:
        seen = seen * mask.reshape(shape[0], form.offset_groups, 1, form.places, -1)
    columns = seen.reshape(shape[0], form.groups, -1, shape[4])
    kernels = weight.reshape(form.groups, weight.shape[0] // form.groups, -1)
    made = jnp.einsum("gok,ngkp->ngop", kernels, columns).reshape(shape[0], weight.shape[0], *form.out)
    return made if bias is None else made + bias.reshape((-1,) + (1,) * len(form.out))


def _sampled(data: Array, where: Array, form: Deformed) -> Array:
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
    low = lax.stop_gradient(jnp.floor(where))
    total = jnp.zeros((), data.dtype)
    for corner in form.corners:
        index = jnp.zeros(where.shape[1:], jnp.int32)
        share = jnp.ones(where.shape[1:], data.dtype)
        for axis, side in enumerate(corner):
            place, size = low[axis] + side, form.sizes[axis]
            share = share * (1.0 - jnp.abs(where[axis] - place)) * ((place >= 0) & (place < size))
            index = index + jnp.clip(place, 0, size - 1).astype(jnp.int32) * form.steps[axis]
        flat = index.reshape(batch, groups, 1, places * out)
        total = (
            total
            + jnp.take_along_axis(images, flat, axis=3).reshape(batch, groups, -1, places, out) * share[:, :, None]
        )
    return total

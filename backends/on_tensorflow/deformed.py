"""TensorFlow rule: convolution of windows whose places are moved by offsets (Dai et al., 2017)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..deforming import deformed
from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..deforming import Deformed


@rule("DeformConv", "tensorflow")
def _deform_conv(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tf.Tensor:
    data, weight, bias, mask = inputs[0], inputs[1], optional(inputs, 3), optional(inputs, 4)
    form = deformed(tuple(data.shape), tuple(weight.shape), attributes)
    shape = (data.shape[0], form.offset_groups, form.places, len(form.sizes), math.prod(form.out))
    moved = tf.transpose(tf.reshape(inputs[2], shape), (3, 0, 1, 2, 4))
    seen = _sampled(data, moved + tf.constant(form.base, data.dtype)[:, tf.newaxis, tf.newaxis], form)
    if mask is not None:
        seen *= tf.reshape(mask, (shape[0], form.offset_groups, 1, form.places, -1))
    columns = tf.reshape(seen, (shape[0], form.groups, -1, shape[4]))
    kernels = tf.reshape(weight, (form.groups, weight.shape[0] // form.groups, -1))
    made = tf.reshape(tf.matmul(kernels, columns), (shape[0], weight.shape[0], *form.out))
    return made if bias is None else made + tf.reshape(bias, (-1, *(1,) * len(form.out)))


def _sampled(data: tf.Tensor, where: tf.Tensor, form: Deformed) -> tf.Tensor:
    """Interpolate linearly; what lies outside is 0.

    Args:
        data: Of shape (batch, channels, spatial...).
        where: Of shape (axes, batch, offset groups, places, outputs).
        form: The sizes.

    Returns:
        Of shape (batch, offset groups, channels of a group, places, outputs).
    """
    batch, groups, places, out = where.shape[1:]
    images = tf.reshape(data, (batch, groups, -1, math.prod(form.sizes)))
    by_place = tf.transpose(images, (0, 1, 3, 2))
    low = tf.stop_gradient(tf.floor(where))
    found = []
    for corner in form.corners:
        index, share = tf.zeros(where.shape[1:], tf.int32), tf.ones(where.shape[1:], data.dtype)
        for axis, side in enumerate(corner):
            place, size = low[axis] + side, form.sizes[axis]
            inside = tf.cast((place >= 0) & (place < size), data.dtype)
            share *= (1.0 - tf.abs(where[axis] - place)) * inside
            index += tf.cast(tf.clip_by_value(place, 0, size - 1), tf.int32) * form.steps[axis]
        seen = tf.gather(by_place, tf.reshape(index, (batch, groups, places * out)), batch_dims=2)
        seen = tf.reshape(tf.transpose(seen, (0, 1, 3, 2)), (batch, groups, -1, places, out))
        found.append(seen * share[:, :, tf.newaxis])
    return tf.add_n(found)

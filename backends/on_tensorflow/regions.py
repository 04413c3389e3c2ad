"""TensorFlow rule: pooling of regions of interest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@rule("MaxRoiPool", "tensorflow")
def _max_roi_pool(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tf.Tensor:
    """Take the largest element of each bin (Girshick, Fast R-CNN, 2015, section 2.1); an empty bin gives 0."""
    data = inputs[0]
    regions = inputs[1] if inputs[1].dtype == tf.float64 else tf.cast(inputs[1], tf.float32)
    corners = regions[:, 1:] * attributes.get("spatial_scale", 1.0)
    corners = tf.sign(corners) * tf.floor(tf.abs(corners) + 0.5)
    rows, columns = (
        _bins(corners[:, axis], corners[:, axis + 2], count, size)
        for axis, count, size in zip((1, 0), attributes["pooled_shape"], data.shape[2:])
    )
    inside = rows[:, :, tf.newaxis, :, tf.newaxis] & columns[:, tf.newaxis, :, tf.newaxis, :]
    seen = tf.gather(data, tf.cast(regions[:, 0], tf.int32))[:, :, tf.newaxis, tf.newaxis]
    made = tf.reduce_max(tf.where(inside[:, tf.newaxis], seen, data.dtype.min), axis=(4, 5))
    return tf.where(tf.reduce_any(inside, axis=(3, 4))[:, tf.newaxis], made, tf.zeros_like(made))


def _bins(start: tf.Tensor, end: tf.Tensor, count: int, size: int) -> tf.Tensor:
    """Return which elements along an axis each bin of each region holds: bool of shape (regions, bins, elements)."""
    width = tf.maximum(end - start + 1.0, 1.0)[:, tf.newaxis] / count
    order = tf.cast(tf.range(count), start.dtype)
    first = tf.clip_by_value(tf.floor(order * width) + start[:, tf.newaxis], 0, size)
    last = tf.clip_by_value(tf.math.ceil((order + 1.0) * width) + start[:, tf.newaxis], 0, size)
    places = tf.cast(tf.range(size), start.dtype)
    return (places >= first[..., tf.newaxis]) & (places < last[..., tf.newaxis])

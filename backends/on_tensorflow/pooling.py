"""TensorFlow rules: pooling."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import optional
from ..registry import rule
from ..windows import shares, unpooled, windows
from .convolution import channels_first, channels_last

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..windows import Windows

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_AVERAGES = {1: tf.nn.avg_pool1d, 2: tf.nn.avg_pool2d}


def _windows(data: tf.Tensor, attributes: Attributes) -> Windows:
    return windows(tuple(data.shape[2:]), attributes["kernel_shape"], attributes)


def _seen(data: tf.Tensor, form: Windows, outside: Any) -> list[tf.Tensor]:
    """Return what each place of a window sees."""
    padded = tf.pad(data, ((0, 0), (0, 0), *form.pads), constant_values=outside)
    return [padded[place] for place in form.slices()]


@rule("MaxPool", "tensorflow")
def _max_pool(inputs: Inputs, attributes: Attributes) -> Any:
    """Take the larger of each place of the window in turn.

    `tf.nn.max_pool` has no gradient that XLA compiles while TensorFlow is told to be deterministic.
    """
    data, form = inputs[0], _windows(inputs[0], attributes)
    seen = _seen(data, form, float("-inf") if data.dtype.is_floating else data.dtype.min)
    if len(attributes.get("outputs", ())) > 1:
        return _largest(seen, form, column_major=bool(attributes.get("storage_order", 0)))
    return functools.reduce(_larger, seen)


def _larger(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """Return the larger elements, the left of equal ones, and what is not a number."""
    return tf.where(_stays(left, right), left, right)


def _stays(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    larger = left >= right
    return larger | tf.math.is_nan(left) if left.dtype.is_floating else larger


def _largest(seen: Sequence[tf.Tensor], form: Windows, *, column_major: bool) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the largest elements, the first of equal ones, and where they are in the flattened tensor."""
    places = [tf.constant(place) for place in form.flat_places(column_major=column_major)]
    values, within = seen[0], tf.broadcast_to(places[0], seen[0].shape)
    for value, place in zip(seen[1:], places[1:]):
        stays = _stays(values, value)
        values, within = tf.where(stays, values, value), tf.where(stays, within, place)
    batch, channels = values.shape[:2]
    images = tf.range(batch * channels, dtype=tf.int64) * math.prod(form.sizes)
    return values, within + tf.reshape(images, (batch, channels, *(1,) * form.rank))


@rule("AveragePool", "tensorflow")
def _average_pool(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, form = _wide(inputs[0]), _windows(inputs[0], attributes)
    factor = shares(form.kernel, form.counts(padding=bool(attributes.get("count_include_pad", 0))))
    mean = _mean(data, form)
    return tf.cast(mean if factor is None else mean * tf.constant(factor, data.dtype), inputs[0].dtype)


def _mean(data: tf.Tensor, form: Windows) -> tf.Tensor:
    """Return the mean over every place of each window, padding included."""
    if set(form.dilations) != {1} or form.rank not in _AVERAGES:
        return tf.add_n(_seen(data, form, 0)) / math.prod(form.kernel)
    padded = channels_last(tf.pad(data, ((0, 0), (0, 0), *form.pads)))
    return channels_first(_AVERAGES[form.rank](padded, form.kernel, form.strides, "VALID"))


def _wide(data: tf.Tensor) -> tf.Tensor:
    return data if data.dtype == tf.float64 else tf.cast(data, tf.float32)


@rule("LpPool", "tensorflow")
def _lp_pool(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, form, power = inputs[0], _windows(inputs[0], attributes), attributes.get("p", 2)
    sums = _mean(_powers(data, power), form) * math.prod(form.kernel)
    return tf.cast(_root(sums, power), data.dtype)


@rule("GlobalLpPool", "tensorflow")
def _global_lp_pool(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, power = inputs[0], attributes.get("p", 2)
    sums = tf.reduce_sum(_powers(data, power), axis=tuple(range(2, data.shape.rank)), keepdims=True)
    return tf.cast(_root(sums, power), data.dtype)


def _powers(data: tf.Tensor, power: int) -> tf.Tensor:
    size = tf.abs(_wide(data))
    return size if power == 1 else tf.pow(size, power)


def _root(sums: tf.Tensor, power: int) -> tf.Tensor:
    """Return the root of sums; where a sum is 0 its gradient is."""
    if power == 1:
        return sums
    nothing = sums == 0
    return tf.where(nothing, tf.zeros_like(sums), tf.pow(tf.where(nothing, tf.ones_like(sums), sums), 1.0 / power))


@rule("GlobalAveragePool", "tensorflow")
def _global_average_pool(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.reduce_mean(inputs[0], axis=tuple(range(2, inputs[0].shape.rank)), keepdims=True)


@rule("GlobalMaxPool", "tensorflow")
def _global_max_pool(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return tf.reduce_max(inputs[0], axis=tuple(range(2, inputs[0].shape.rank)), keepdims=True)


@rule("MaxUnpool", "tensorflow")
def _max_unpool(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, places, wanted = inputs[0], inputs[1], optional(inputs, 2)
    shape = unpooled(tuple(data.shape), attributes)
    flat = tf.zeros((math.prod(shape),), data.dtype)
    made = tf.tensor_scatter_nd_update(flat, tf.reshape(places, (-1, 1)), tf.reshape(data, (-1,)))
    made = tf.reshape(made, shape)
    if wanted is None:
        return made
    kept = made[tuple(slice(min(int(want), size)) for want, size in zip(wanted, shape))]
    return tf.pad(kept, [(0, int(want) - size) for want, size in zip(wanted, kept.shape)])

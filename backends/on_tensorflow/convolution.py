"""TensorFlow rules: convolutions. The CPU has them with channels last only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import optional, paddings
from ..registry import rule
from ..windows import SILU, causal_activation, spatial_rank, transposed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..windows import Transposed

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_TRANSPOSED = {1: tf.nn.conv1d_transpose, 2: tf.nn.conv2d_transpose, 3: tf.nn.conv3d_transpose}
# Stated, because the gradient of a three-dimensional one fails without it.
_FORMATS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_IMAGE = 2


@rule("Conv", "tensorflow")
def _conv(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return convolved(inputs[0], inputs[1], optional(inputs, 2), attributes)


def convolved(data: tf.Tensor, weight: tf.Tensor, bias: tf.Tensor | None, attributes: Attributes) -> tf.Tensor:
    """Return the convolution that the attributes of a `Conv` node state.

    Args:
        data: Of shape (batch, channels, spatial...).
        weight: Of shape (outputs, channels of a group, window...).
        bias: Of shape (outputs), or None.
        attributes: The node's.

    Raises:
        UnsupportedError: There are no spatial axes, or more than three.
    """
    if data.dtype in (tf.float16, tf.bfloat16):
        # The CPU would add up in as few bits.
        wide = [None if value is None else tf.cast(value, tf.float32) for value in (data, weight, bias)]
        return tf.cast(convolved(wide[0], wide[1], wide[2], attributes), data.dtype)
    rank = spatial_rank("Conv", "tensorflow", weight.shape.rank - 2)
    strides, dilations = (tuple(attributes.get(name) or (1,) * rank) for name in ("strides", "dilations"))
    kernel = tf.transpose(weight, (*range(2, rank + 2), 1, 0))
    padded, padding = _padded(channels_last(data), tuple(weight.shape[2:]), attributes)
    # TensorFlow dilates where it does not stride.
    thinned = max(strides) > 1 and max(dilations) > 1
    if thinned and padding == "SAME":
        padded, padding = _explicit(channels_last(data), tuple(weight.shape[2:]), attributes), "VALID"
    steps = (1,) * rank if thinned else strides
    made = _grouped(padded, kernel, (steps, dilations, padding), attributes.get("group", 1))
    if thinned:
        made = made[(slice(None), *(slice(None, None, stride) for stride in strides))]
    return channels_first(made if bias is None else made + bias)


def _grouped(data: tf.Tensor, kernel: tf.Tensor, form: tuple[Any, Any, str], groups: int) -> tf.Tensor:
    strides, dilations, padding = form
    rank = data.shape.rank - 2
    if groups == data.shape[-1] > 1 and rank <= _IMAGE and len(set(strides)) == 1:
        return _depthwise(data, kernel, form)
    # The CPU has no gradient of a grouped convolution.
    parts = zip(tf.split(data, groups, axis=-1), tf.split(kernel, groups, axis=-1))
    made = [
        tf.nn.convolution(part, window, strides, padding, _FORMATS[rank], dilations=dilations) for part, window in parts
    ]
    return made[0] if groups == 1 else tf.concat(made, axis=-1)


def _depthwise(data: tf.Tensor, kernel: tf.Tensor, form: tuple[Any, Any, str]) -> tf.Tensor:
    """Convolve each channel by itself; one spatial axis is an image of one row."""
    strides, dilations, padding = form
    window, channels = kernel.shape[:-2], data.shape[-1]
    filters = tf.reshape(kernel, (*window, channels, -1))
    if len(window) == _IMAGE:
        return tf.nn.depthwise_conv2d(data, filters, (1, *strides, 1), padding, dilations=dilations)
    step, rate = strides[0], dilations[0]
    row = tf.nn.depthwise_conv2d(
        data[:, tf.newaxis], filters[tf.newaxis], (1, step, step, 1), padding, dilations=(1, rate)
    )
    return row[:, 0]


def _padded(data: tf.Tensor, kernel: tuple[int, ...], attributes: Attributes) -> tuple[tf.Tensor, str]:
    """Leave padding that TensorFlow has a word for to the operator, and apply any other beforehand."""
    sizes = data.shape[1:-1]
    pads = paddings(sizes, kernel, attributes)
    if not any(before or after for before, after in pads):
        return data, "VALID"
    if pads == paddings(sizes, kernel, {**attributes, "auto_pad": "SAME_UPPER"}):
        return data, "SAME"
    return _explicit(data, kernel, attributes), "VALID"


def _explicit(data: tf.Tensor, kernel: tuple[int, ...], attributes: Attributes) -> tf.Tensor:
    return tf.pad(data, ((0, 0), *paddings(data.shape[1:-1], kernel, attributes), (0, 0)))


def channels_last(data: tf.Tensor) -> tf.Tensor:
    """Return a channels-first tensor with its channels last."""
    return tf.transpose(data, (0, *range(2, data.shape.rank), 1))


def channels_first(data: tf.Tensor) -> tf.Tensor:
    """Return a channels-last tensor with its channels after the batch."""
    return tf.transpose(data, (0, data.shape.rank - 1, *range(1, data.shape.rank - 1)))


@rule("ConvTranspose", "tensorflow")
def _conv_transpose(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, weight, bias = channels_last(inputs[0]), inputs[1], optional(inputs, 2)
    rank = spatial_rank("ConvTranspose", "tensorflow", weight.shape.rank - 2)
    form, groups = transposed(data.shape[1:-1], weight.shape[2:], attributes), attributes.get("group", 1)
    kernel = _spread(tf.transpose(weight, (*range(2, rank + 2), 1, 0)), form)
    shape = (data.shape[0], *form.full, weight.shape[1])
    made = [
        _TRANSPOSED[rank](part, window, shape, form.strides, "VALID", _FORMATS[rank])
        for part, window in zip(tf.split(data, groups, axis=-1), tf.split(kernel, groups, axis=-1))
    ]
    kept = _cut(made[0] if groups == 1 else tf.concat(made, axis=-1), form)
    return channels_first(kept if bias is None else kept + bias)


def _spread(kernel: tf.Tensor, form: Transposed) -> tf.Tensor:
    """Put zeros between the places of a dilated window: the CPU has no dilated transposed convolution."""
    for axis, (size, dilation) in enumerate(zip(form.kernel, form.dilations)):
        if dilation > 1:
            apart = tf.expand_dims(kernel, axis + 1)
            widths = [(0, dilation - 1 if place == axis + 1 else 0) for place in range(apart.shape.rank)]
            shape = (*kernel.shape[:axis], size * dilation, *kernel.shape[axis + 1 :])
            kernel = tf.reshape(tf.pad(apart, widths), shape)
            kernel = tf.gather(kernel, range((size - 1) * dilation + 1), axis=axis)
    return kernel


def _cut(whole: tf.Tensor, form: Transposed) -> tf.Tensor:
    """Cut off what the padding takes, and add zeros where there is less than the output holds."""
    pairs = tuple(zip(form.begin, form.end))
    kept = tuple(slice(max(begin, 0), size - max(end, 0)) for size, (begin, end) in zip(form.full, pairs))
    inner = whole[(slice(None), *kept)]
    if all(begin >= 0 and end >= 0 for begin, end in pairs):
        return inner
    return tf.pad(inner, ((0, 0), *((max(-begin, 0), max(-end, 0)) for begin, end in pairs), (0, 0)))


@rule("CausalConvWithState", "tensorflow")
def _causal_conv(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, tf.Tensor]:
    data, weight, bias, past = inputs[0], inputs[1], optional(inputs, 2), optional(inputs, 3)
    kept = weight.shape[2] - 1
    whole = tf.pad(data, ((0, 0), (0, 0), (kept, 0))) if past is None else tf.concat((past, data), axis=2)
    made = convolved(whole, weight, bias, {"group": weight.shape[0]})
    if causal_activation(attributes) == SILU:
        wide = made if made.dtype == tf.float64 else tf.cast(made, tf.float32)
        made = tf.cast(wide * tf.sigmoid(wide), made.dtype)
    return made, whole[:, :, whole.shape[2] - kept :]

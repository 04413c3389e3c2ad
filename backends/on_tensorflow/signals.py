"""TensorFlow rules: Fourier transforms. The framework's own run over the last axis, and over all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import optional
from ..registry import rule
from ..spectra import SIGNAL_RANK, Transform, frame_length, frames, transform_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("DFT", "tensorflow")
def _dft(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return _transformed(inputs[0], transform_of(inputs[0].shape, inputs, attributes))


def _transformed(data: tf.Tensor, plan: Transform) -> tf.Tensor:
    """Transform in float32 at least."""
    wide = data if data.dtype == tf.float64 else tf.cast(data, tf.float32)
    rank = data.shape.rank - 1
    order = [*(axis for axis in range(rank) if axis != plan.axis), plan.axis]
    made = _last_axis(tf.transpose(wide, [*order, rank]), plan)
    back = [order.index(axis) for axis in range(rank)]
    return tf.cast(tf.transpose(made, [*back, rank]), data.dtype)


def _last_axis(parts: tf.Tensor, plan: Transform) -> tf.Tensor:
    if plan.inverse and plan.onesided:
        signal = _complex(_fitted(parts, plan.length // 2 + 1))
        return tf.signal.irfft(signal, [plan.length])[..., tf.newaxis]
    fitted = _fitted(parts, plan.length)
    if plan.inverse:
        made = tf.signal.ifft(_complex(fitted))
    elif plan.onesided and plan.real:
        made = tf.signal.rfft(fitted[..., 0])
    else:
        made = tf.signal.fft(_complex(fitted))
        made = made[..., : plan.length // 2 + 1] if plan.onesided else made
    return tf.stack((tf.math.real(made), tf.math.imag(made)), axis=-1)


def _fitted(parts: tf.Tensor, length: int) -> tf.Tensor:
    """Return the samples cut to a length, or filled up with zeros."""
    missing = max(length - parts.shape[-2], 0)
    return tf.pad(parts[..., :length, :], [[0, 0]] * (parts.shape.rank - 2) + [[0, missing], [0, 0]])


def _complex(parts: tf.Tensor) -> tf.Tensor:
    real = parts[..., 0]
    return tf.complex(real, tf.zeros_like(real) if parts.shape[-1] == 1 else parts[..., 1])


@rule("STFT", "tensorflow")
def _stft(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    signal, (step,), window = inputs[0], inputs[1], optional(inputs, 2)
    signal = signal if signal.shape.rank == SIGNAL_RANK else signal[..., tf.newaxis]
    length = frame_length(signal.shape, inputs)
    framed = tf.gather(signal, frames(signal.shape[1], length, step), axis=1)
    framed = framed if window is None else framed * window[:, tf.newaxis]
    real = signal.shape[-1] == 1
    return _transformed(framed, Transform(2, length, real, inverse=False, onesided=bool(attributes.get("onesided", 1))))

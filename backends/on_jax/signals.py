"""JAX rules: Fourier transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..nodes import optional
from ..registry import rule
from ..spectra import SIGNAL_RANK, Transform, frame_length, frames, transform_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("DFT", "jax")
def _dft(inputs: Inputs, attributes: Attributes) -> Array:
    return _transformed(inputs[0], transform_of(inputs[0].shape, inputs, attributes))


def _transformed(data: Array, plan: Transform) -> Array:
    """Transform in float32 at least."""
    wide = data if data.dtype == jnp.float64 else data.astype(jnp.float32)
    signal = wide[..., 0] if plan.real else jax.lax.complex(wide[..., 0], wide[..., 1])
    if plan.inverse and plan.onesided:
        return jnp.fft.irfft(signal, plan.length, plan.axis)[..., None].astype(data.dtype)
    if plan.inverse:
        made = jnp.fft.ifft(signal, plan.length, plan.axis)
    elif plan.onesided and plan.real:
        made = jnp.fft.rfft(signal, plan.length, plan.axis)
    else:
        made = jnp.fft.fft(signal, plan.length, plan.axis)
        made = jax.lax.slice_in_dim(made, 0, plan.length // 2 + 1, axis=plan.axis) if plan.onesided else made
    return jnp.stack((made.real, made.imag), axis=-1).astype(data.dtype)


@rule("STFT", "jax")
def _stft(inputs: Inputs, attributes: Attributes) -> Array:
    signal, (step,), window = inputs[0], inputs[1], optional(inputs, 2)
    signal = signal if signal.ndim == SIGNAL_RANK else signal[..., None]
    length = frame_length(signal.shape, inputs)
    framed = signal[:, frames(signal.shape[1], length, step)]
    framed = framed if window is None else framed * window[:, None]
    real = signal.shape[-1] == 1
    return _transformed(framed, Transform(2, length, real, inverse=False, onesided=bool(attributes.get("onesided", 1))))

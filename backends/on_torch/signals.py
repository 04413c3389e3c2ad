"""PyTorch rules: Fourier transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..nodes import optional
from ..registry import rule
from ..spectra import SIGNAL_RANK, Transform, frame_length, transform_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("DFT", "torch")
def _dft(inputs: Inputs, attributes: Attributes) -> Any:
    return _transformed(inputs[0], transform_of(inputs[0].shape, inputs, attributes))


def _transformed(data: Any, plan: Transform) -> Any:
    """Transform in float32 at least."""
    wide = data if data.dtype == torch.float64 else data.float()
    signal = wide[..., 0] if plan.real else torch.complex(wide[..., 0], wide[..., 1])
    if plan.inverse and plan.onesided:
        return torch.fft.irfft(signal, plan.length, plan.axis).unsqueeze(-1).to(data.dtype)
    if plan.inverse:
        made = torch.fft.ifft(signal, plan.length, plan.axis)
    elif plan.onesided and plan.real:
        made = torch.fft.rfft(signal, plan.length, plan.axis)
    else:
        made = torch.fft.fft(signal, plan.length, plan.axis)
        made = made.narrow(plan.axis, 0, plan.length // 2 + 1) if plan.onesided else made
    return torch.view_as_real(made).to(data.dtype)


@rule("STFT", "torch")
def _stft(inputs: Inputs, attributes: Attributes) -> Any:
    signal, (step,), window = inputs[0], inputs[1], optional(inputs, 2)
    signal = signal if signal.dim() == SIGNAL_RANK else signal.unsqueeze(-1)
    length = frame_length(signal.shape, inputs)
    framed = signal.unfold(1, length, step).transpose(2, 3)
    framed = framed if window is None else framed * window[:, None]
    real = signal.shape[-1] == 1
    return _transformed(framed, Transform(2, length, real, inverse=False, onesided=bool(attributes.get("onesided", 1))))

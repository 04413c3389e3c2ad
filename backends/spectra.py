"""What Fourier transforms share on every target: axes, lengths and frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .nodes import optional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COMPLEX = 2
# Axes of a signal: batch, samples, and the parts of a number; the last may be left out of real ones.
SIGNAL_RANK = 3


@dataclass(frozen=True)
class Transform:
    """One discrete Fourier transform of a tensor whose last axis holds a real part, or a real and an imaginary one.

    Attributes:
        axis: What is transformed, counted from 0.
        length: To how many samples the axis is cut, or filled up with zeros; of a one-sided inverse, how many it makes.
        real: Whether the last axis holds a real part only.
        inverse: Whether frequencies are made samples.
        onesided: Whether only the frequencies from 0 to the half are there.
    """

    axis: int
    length: int
    real: bool
    inverse: bool
    onesided: bool


def transform_of(shape: Sequence[int], inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Transform:
    """Return what a `DFT` node does to a tensor of a shape.

    Raises:
        UnsupportedError: The last axis holds neither a real number nor a real and an imaginary part.
    """
    if shape[-1] not in (1, _COMPLEX):
        raise UnsupportedError(f"DFT of a tensor of shape {tuple(shape)} has no rule: the last axis needs size 1 or 2")
    given, axes = optional(inputs, 1), optional(inputs, 2)
    axis = (axes[0] if axes else attributes.get("axis", -2)) % len(shape)
    inverse, onesided = (bool(attributes.get(name, 0)) for name in ("inverse", "onesided"))
    whole = 2 * (shape[axis] - 1) if inverse and onesided else shape[axis]
    return Transform(axis, given[0] if given else whole, shape[-1] == 1, inverse, onesided)


def frames(samples: int, length: int, step: int) -> np.ndarray:
    """Return which samples the frames of a signal hold: int64 of shape (frames, length)."""
    count = (samples - length) // step + 1
    return np.arange(count)[:, None] * step + np.arange(length)[None, :]


def frame_length(signal: Sequence[int], inputs: Sequence[Any]) -> int:
    """Return the length of the frames of an `STFT` node: as stated, or the window's, or the whole signal's.

    Args:
        signal: The signal's shape.
        inputs: The node's.
    """
    window, given = optional(inputs, 2), optional(inputs, 3)
    return int(given[0] if given else signal[1] if window is None else window.shape[0])

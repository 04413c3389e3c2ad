"""Tensors that are computed from a few numbers, on every target: ranges, windows and the mel scale's filters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from .kit import shared
from .narrow import INTEGERS
from .nodes import DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .kit import Kit

# ONNX TensorProto.DataType number of float32.
_FLOAT = 1


@shared("Range")
def _range(kit: Kit, inputs: Sequence[Any], _attributes: Mapping[str, Any]) -> Any:
    """Count from start to limit, computed in 64 bits."""
    start, limit, delta = (kit.host(value, "Range").item() for value in inputs)
    length = max(math.ceil((limit - start) / delta), 0)
    numbers = start + np.arange(length, dtype=np.int64 if isinstance(start, int) else np.float64) * delta
    return kit.cast(kit.tensor_of(numbers, inputs[0]), kit.dtype_of(inputs[0]))


def cosines(size: int, terms: Sequence[float], *, periodic: bool) -> np.ndarray:
    """Return a window that is a sum of cosines.

    Args:
        size: How many samples.
        terms: The factor of each cosine, from the constant one on.
        periodic: Whether the sample after the last would be the first again; else the last is the first.

    Returns:
        float64 of shape (size,).
    """
    turns = np.arange(size) * (2 * math.pi / max(size if periodic else size - 1, 1))
    waves = np.cos(np.outer(turns, np.arange(len(terms))))
    return np.asarray(waves @ np.asarray(terms))


def _typed(kit: Kit, values: np.ndarray, attributes: Mapping[str, Any]) -> Any:
    name = DTYPES[attributes.get("output_datatype", _FLOAT)]
    return kit.cast(kit.tensor_of(np.trunc(values) if name in INTEGERS else values), name)


def _window(terms: Sequence[float]) -> Callable[..., Any]:
    def apply(kit: Kit, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        (size,) = inputs[0]
        return _typed(kit, cosines(size, terms, periodic=bool(attributes.get("periodic", 1))), attributes)

    return apply


shared("HannWindow")(_window((0.5, -0.5)))
shared("HammingWindow")(_window((25 / 46, -21 / 46)))
shared("BlackmanWindow")(_window((0.42, -0.5, 0.08)))


def mel_filters(bins: int, length: int, rate: int, lower: float, upper: float) -> np.ndarray:
    """Return triangular filters whose centres are equally far apart on the mel scale.

    Args:
        bins: How many filters.
        length: Samples of the transform whose frequencies are filtered.
        rate: Samples per second.
        lower: Where the first filter begins, in hertz.
        upper: Where the last one ends, in hertz.

    Returns:
        float64 of shape (length // 2 + 1, bins).
    """
    ends = 2595.0 * np.log10(1.0 + np.array([lower, upper]) / 700.0)
    mels = ends[0] + np.arange(bins + 2) * (ends[1] - ends[0]) / (bins + 2)
    hertz = 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    points = np.floor((length + 1) * hertz / rate).astype(int)
    filters = np.zeros((length // 2 + 1, bins))
    for place, (left, centre, right) in enumerate(zip(points, points[1:], points[2:])):
        rising, falling = np.arange(left, centre + 1), np.arange(centre, right)
        filters[rising, place] = (rising - left) / (centre - left) if centre > left else 1.0
        filters[falling, place] = (right - falling) / max(right - centre, 1)
    return filters


@shared("MelWeightMatrix")
def _mel_weight_matrix(kit: Kit, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    return _typed(kit, mel_filters(*(number for (number,) in inputs)), attributes)

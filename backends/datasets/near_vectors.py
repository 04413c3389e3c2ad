"""Near-duplicates of images and vectors: 64 bits for each sample, bands of bits to find candidates, distance to decide.

* Images: the difference hash. The image is made 9 x 8 by means of boxes; a bit says whether a box is brighter than the
  one to its left.
* Vectors: the signs of 64 random projections (Charikar, *Similarity estimation techniques from rounding algorithms*,
  2002).

Features are rounded to whole numbers first, and sums of those are exact in float64: what is found depends neither on
the order of additions nor on the library that adds.
"""

from __future__ import annotations

import numpy as np

from .words import key_of, words

_BITS, _BANDS = 64, 4
_MOST_APART, _NEIGHBOURS = 7, 64
_STEPS = 2.0**20
_COLUMNS, _ROWS = 9, 8
_IMAGE_AXES = 4
_LOOKED_AT = 1 << 22


def near_duplicates(features: np.ndarray, tolerance: float) -> dict[int, int]:
    """Return, for each sample that is near an earlier one that stays, that earlier one.

    Args:
        features: Finite numbers of shape (n, ...); of shape (n, channels, height, width) they are images.
        tolerance: The largest root mean square of the differences, as a share of the range of all features.
    """
    least, most = float(features.min()), float(features.max())
    scale = _STEPS / (most - least) if most > least else 1.0
    bits = _hashed(features, least, scale)
    limit = (tolerance * _STEPS) ** 2 * features[0].size
    found: dict[int, int] = {}
    for later, earlier in _candidates(bits):
        kept = found.get(earlier, earlier)
        if later not in found and _distance(features, later, kept, (least, scale)) <= limit:
            found[later] = kept
    return found


def _whole(part: np.ndarray, least: float, scale: float) -> np.ndarray:
    """Return features as whole numbers from 0 to 2**20, in float64."""
    return np.rint((part.astype(np.float64) - least) * scale)


def _distance(features: np.ndarray, first: int, second: int, how: tuple[float, float]) -> float:
    # Products and sums of whole numbers below 2**53.
    apart = _whole(features[first], *how) - _whole(features[second], *how)
    return float(np.sum(np.floor(apart * apart / 2.0**12))) * 2.0**12


def _hashed(features: np.ndarray, least: float, scale: float) -> np.ndarray:
    """Return the 64 bits of each sample, booleans of shape (n, 64)."""
    signs = None if _is_images(features) else _signs(features[0].size)
    rows = max(1, _LOOKED_AT // features[0].size)
    made = []
    for start in range(0, len(features), rows):
        part = _whole(features[start : start + rows], least, scale)
        made.append(_differences(part) if signs is None else part.reshape(len(part), -1) @ signs > 0)
    return np.concatenate(made)


def _is_images(features: np.ndarray) -> bool:
    return features.ndim == _IMAGE_AXES and features.shape[2] >= _ROWS and features.shape[3] >= _COLUMNS


def _signs(size: int) -> np.ndarray:
    """Return a matrix of -1 and 1 of shape (size, 64), each column with a sum of 0 or 1."""
    made = np.ones((_BITS, size))
    order = np.argsort(words(key_of(0, "projections"), np.arange(_BITS), size), axis=1, kind="stable")
    np.put_along_axis(made, order[:, : size // 2], -1.0, axis=1)
    return np.ascontiguousarray(made.T)


def _differences(part: np.ndarray) -> np.ndarray:
    """Return the difference hash of images (n, channels, height, width)."""
    grey = part.sum(axis=1)
    tall, wide = (_edges(size, count) for size, count in zip(grey.shape[1:], (_ROWS, _COLUMNS)))
    sums = np.add.reduceat(np.add.reduceat(grey, tall[:-1], axis=1), wide[:-1], axis=2)
    # Boxes may differ by one in their width: sums are compared as if multiplied by the other's.
    widths = np.diff(wide).astype(np.float64)
    return (sums[:, :, 1:] * widths[:-1] > sums[:, :, :-1] * widths[1:]).reshape(len(part), -1)


def _edges(size: int, count: int) -> np.ndarray:
    return np.arange(count + 1) * size // count


def _candidates(bits: np.ndarray) -> list[tuple[int, int]]:
    """Return pairs (later, earlier) with a band in common and at most seven bits apart, sorted.

    In each band, samples are sorted by all of their bits, and each is held against its neighbours.
    """
    packed = np.packbits(bits.reshape(len(bits), -1, _BANDS).transpose(0, 2, 1).reshape(len(bits), -1), axis=1)
    codes = packed.view(">u8")[:, 0].astype(np.uint64)
    pairs: set[tuple[int, int]] = set()
    for band in range(_BANDS):
        turn = np.uint64(band * _BITS // _BANDS)
        turned = (codes << turn) | (codes >> (np.uint64(_BITS) - turn)) if band else codes
        order = np.argsort(turned, kind="stable")
        for shift in range(1, min(_NEIGHBOURS, len(order) - 1) + 1):
            pairs.update(_near(turned[order], order, shift))
    return sorted(pairs)


def _near(codes: np.ndarray, order: np.ndarray, shift: int) -> list[tuple[int, int]]:
    apart = codes[shift:] ^ codes[:-shift]
    places = np.flatnonzero(apart < np.uint64(1 << (_BITS - _BITS // _BANDS)))
    counts = _COUNTS[apart[places].view(np.uint8).reshape(-1, 8)].sum(axis=1)
    places = places[counts <= _MOST_APART]
    ends = np.stack([order[places], order[places + shift]])
    return list(zip(ends.max(axis=0).tolist(), ends.min(axis=0).tolist()))


_COUNTS = np.asarray([bin(byte).count("1") for byte in range(256)], dtype=np.int64)

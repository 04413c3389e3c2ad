"""Random numbers whose bits do not depend on the numpy version, the C library or the processor.

Only the raw 64-bit stream of PCG64 is taken from numpy (bit generators keep their stream, NEP 19), and everything is
made from it with integer operations and IEEE 754 additions and multiplications.
"""

from __future__ import annotations

import numpy as np


def raw(seed: int, count: int) -> np.ndarray:
    """Return `count` 64-bit words of the stream that a seed starts, as uint64."""
    return np.asarray(np.random.PCG64(seed).random_raw(count), dtype=np.uint64)


def uniform(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return float64 numbers of that shape, uniform over [0, 1) in steps of 2**-53."""
    words = raw(seed, int(np.prod(shape, dtype=np.int64)))
    return ((words >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(shape)


def integers(seed: int, bound: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return int64 numbers of that shape from 0 to `bound - 1`; the bias is below `bound / 2**53`."""
    return np.asarray(np.floor(uniform(seed, shape) * bound), dtype=np.int64)


def signs(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return float64 numbers of that shape, each -1 or 1."""
    words = raw(seed, int(np.prod(shape, dtype=np.int64)))
    return ((words >> np.uint64(63)).astype(np.float64) * 2.0 - 1.0).reshape(shape)

"""Classes in chosen shares, with exact counts per epoch.

Each class is an endless row of its samples, every turn of it in an order of its own; an epoch takes the next so many of
each row. So within a class no sample comes a second time before all others have come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .faults import wrong_key
from .order import epoch_key, permuted
from .words import mixed

if TYPE_CHECKING:
    from collections.abc import Sequence

_CLASS, _TURN = np.uint64(0xD1B54A32D192ED03), np.uint64(0x8CB92BA72F3D8DD7)


class Balance:
    """Draws samples so that classes have chosen shares.

    Args:
        labels: The class of each sample, integers of shape (n,).
        weights: How often each class comes, relative to the others; empty for equally often.
        size: Samples of an epoch; 0 for as many as there are.
        seed: What the orders are drawn from.

    Attributes:
        counts: Samples of each class in an epoch, int64: `size * weight / sum of weights`, and where these are no whole
            numbers, rounded down, with the rest given to the largest remainders.

    Raises:
        InputError: A class with weight has no samples, or the weights do not fit the classes.
    """

    def __init__(self, labels: np.ndarray, weights: Sequence[float] = (), size: int = 0, seed: int = 0) -> None:
        there = np.bincount(labels, minlength=len(weights))
        shares = np.asarray(weights or np.ones(len(there)), dtype=np.float64)
        _check(there, shares)
        self.counts = _apportioned(shares, size or len(labels))
        self._samples = np.argsort(labels, kind="stable")
        self._there, self._starts = there, np.concatenate([[0], np.cumsum(there)])[:-1]
        self._ends, self._seed = np.cumsum(self.counts), seed

    def at(self, epoch: int, places: np.ndarray) -> np.ndarray:
        """Return the samples at places of an epoch, int64; places run from 0 to `size - 1`, class after class."""
        kind = np.searchsorted(self._ends, places, side="right")
        turn, within = np.divmod(
            places - (self._ends - self.counts)[kind] + epoch * self.counts[kind], self._there[kind]
        )
        keys = epoch_key(self._seed, "balance", 0)
        keys = mixed(mixed(keys + kind.astype(np.uint64) * _CLASS) + turn.astype(np.uint64) * _TURN)
        return self._samples[self._starts[kind] + permuted(keys, self._there[kind], within)]


def _check(there: np.ndarray, shares: np.ndarray) -> None:
    if len(there) != len(shares):
        raise wrong_key("data.balance", f"has {len(shares)} weights for {len(there)} classes: give one for each class")
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise wrong_key("data.balance", "has a weight that is negative or not finite, or none above 0: correct it")
    empty = np.flatnonzero((shares > 0) & (there == 0))
    if empty.size:
        raise wrong_key("data.balance", f"class {empty[0]} has no samples: set its weight to 0, or bring samples of it")


def _apportioned(shares: np.ndarray, size: int) -> np.ndarray:
    wanted = shares / shares.sum() * size
    counts = np.floor(wanted + size * 2.0**-50).astype(np.int64)
    rest = np.argsort(counts - wanted, kind="stable")[: size - int(counts.sum())]
    counts[rest] += 1
    return counts

"""Throughput as a ratio of pairs measured in alternation, with a distribution-free interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from ...compat.verdict import Throughput

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE: Final = 0.95


def compare_pairs(pairs: Sequence[tuple[float, float]], baseline: str, steps: int) -> Throughput:
    """Judge a candidate's speed by rounds in which both did the same number of steps.

    The ratio is the median over rounds; the interval is that of the sign test for a median (Conover, Practical
    Nonparametric Statistics, 1999, section 3.2), which assumes independent rounds and nothing of their distribution.

    Args:
        pairs: Wall seconds of (baseline, candidate) per round.
        baseline: Id of the baseline cell.
        steps: Steps in each block.
    """
    rounds = np.array([base / candidate for base, candidate in pairs])
    low, high = interval(rounds)
    return Throughput(
        ratio=float(np.median(rounds)),
        low=low,
        high=high,
        baseline=baseline,
        confidence=min(CONFIDENCE, coverage(len(rounds))),
        rounds=tuple(float(value) for value in rounds),
        steps_per_second=steps / float(np.median([candidate for _, candidate in pairs])),
    )


def coverage(count: int) -> float:
    """Return the probability with which the smallest and the largest of so many values enclose their median."""
    return 1.0 - 2.0 ** (1 - count)


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the narrowest symmetric pair of order statistics that covers the median with `CONFIDENCE`.

    With too few values for any pair to reach it, the smallest and the largest value are returned; `coverage` says with
    which probability they cover it.
    """
    ordered, count = np.sort(values), len(values)
    below, rank = 0.0, 0
    while rank < count // 2:
        below += math.comb(count, rank) / 2.0**count
        if 2.0 * below > 1.0 - CONFIDENCE:
            break
        rank += 1
    rank = max(rank - 1, 0)
    return float(ordered[rank]), float(ordered[count - 1 - rank])

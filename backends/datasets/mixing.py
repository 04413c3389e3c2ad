"""Mixup and cutmix: a sample and a partner from the whole set, with labels as shares of classes.

Sources: Zhang, Cisse, Dauphin, Lopez-Paz, *mixup: Beyond empirical risk minimization*, 2018; Yun, Han, Oh, Chun, Choe,
Yoo, *CutMix: Regularization strategy to train strong classifiers with localizable features*, 2019.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .deviates import beta
from .words import key_of, uniform

if TYPE_CHECKING:
    from .augment import Augment

_PARTNER, _CHOICE, _ROW, _COLUMN, _DRAWS = range(5)
_HALF = 0.5


def partners(samples: np.ndarray, count: int, seed: int, epoch: int) -> np.ndarray:
    """Return the sample that each is mixed with, int64: any of `count`, drawn from (seed, epoch, sample)."""
    drawn = uniform(key_of(seed, f"mix/{epoch}"), samples, _DRAWS)
    return np.floor(drawn[:, _PARTNER] * count).astype(np.int64)


def mixed_pair(
    pair: tuple[np.ndarray, np.ndarray], samples: np.ndarray, how: Augment, seed: int, epoch: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mix samples with their partners.

    Args:
        pair: Features of the samples and of their partners, float32 of one shape.
        samples: Which samples they are, int64 of shape (n,).
        how: With `mixup`, `cutmix` or both above 0; cutmix takes images.
        seed: What the shares are drawn from.
        epoch: Counting from 0.

    Returns:
        The mixed features, float32, and the share of each sample in its mixture, float32 of shape (n,).
    """
    drawn = uniform(key_of(seed, f"mix/{epoch}"), samples, _DRAWS)
    cut = np.full(len(samples), bool(how.cutmix)) & ((drawn[:, _CHOICE] < _HALF) | (not how.mixup))
    mask = np.zeros(pair[0].shape, dtype=np.float32)  # the share of the sample at each element
    share = np.zeros(len(samples), dtype=np.float32)
    if how.mixup:
        blended = beta(key_of(seed, f"mixup/{epoch}"), samples, how.mixup).astype(np.float32)
        share[~cut] = blended[~cut]
        mask[~cut] = blended[~cut].reshape(-1, *[1] * (mask.ndim - 1))
    if cut.any():
        boxes = _boxes(beta(key_of(seed, f"cutmix/{epoch}"), samples, how.cutmix), drawn, mask.shape[2:])
        mask[cut] = ~boxes[cut][:, None]
        share[cut] = (1.0 - boxes[cut].mean(axis=(1, 2))).astype(np.float32)
    return pair[0] * mask + pair[1] * (np.float32(1.0) - mask), share


def soft_labels(pair: tuple[np.ndarray, np.ndarray], share: np.ndarray, classes: int) -> np.ndarray:
    """Return the classes' shares in mixtures, float32 of shape (n, classes), each row with a sum of 1."""
    rows = np.arange(len(share))
    made = np.zeros((len(share), classes), dtype=np.float32)
    np.add.at(made, (rows, pair[0]), share)
    np.add.at(made, (rows, pair[1]), np.float32(1.0) - share)
    return made


def _boxes(stays: np.ndarray, drawn: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Return which pixels come from the partner, booleans of shape (n, height, width).

    The box has `sqrt(1 - stays)` of each side, its middle lies anywhere in the image, and what sticks out is cut off;
    the share that stays is counted after that.
    """
    sides = []
    for at, count in zip((_ROW, _COLUMN), size):
        long = np.floor(np.sqrt(1.0 - stays) * count)
        first = np.floor(drawn[:, at] * count) - np.floor(long / 2.0)
        places = np.arange(count)
        sides.append((places >= first[:, None]) & (places < (first + long)[:, None]))
    return sides[0][:, :, None] & sides[1][:, None, :]

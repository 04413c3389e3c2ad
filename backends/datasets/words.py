"""Random words by counter: any word is made directly from a key and two counters, with integer operations only.

Threefry-2x64 with 20 rounds (Salmon, Moraes, Dror, Shaw, *Parallel random numbers: as easy as 1, 2, 3*, 2011).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Key = tuple[int, int]

_TURNS = (16, 42, 12, 31, 16, 32, 24, 21)
_PARITY = 0x1BD11BDAA9FC1A22
_MASK = 2**64 - 1
_ROUNDS = 20
_INJECTED = 4
_UNIT = 2.0**-53


def key_of(seed: int, purpose: str) -> Key:
    """Return the key of one purpose of a seed: the first 16 bytes of a SHA-256."""
    digest = hashlib.sha256(f"{seed}/datasets/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


def threefry(key: Key, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Encrypt counters.

    Args:
        key: Two 64-bit words.
        first: One word of each counter, uint64 with at least one axis.
        second: The other word, of the same shape.

    Returns:
        Two uint64 arrays of the same shape.
    """
    parts = (key[0], key[1], _PARITY ^ key[0] ^ key[1])
    left, right = first + np.uint64(parts[0]), second + np.uint64(parts[1])
    for turn in range(_ROUNDS):
        by = _TURNS[turn % len(_TURNS)]
        left += right
        low = right >> np.uint64(64 - by)
        right <<= np.uint64(by)
        right |= low
        right ^= left
        if (turn + 1) % _INJECTED == 0:
            count = (turn + 1) // _INJECTED
            left += np.uint64(parts[count % 3])
            right += np.uint64((parts[(count + 1) % 3] + count) & _MASK)
    return left, right


def words(key: Key, samples: np.ndarray, count: int) -> np.ndarray:
    """Return `count` words for each sample, uint64 of shape (samples, count).

    The word at place `p` of sample `s` is half `p % 2` of the counter `(s, p // 2)`: it depends on nothing else.
    """
    pairs = np.arange((count + 1) // 2, dtype=np.uint64)
    first = np.repeat(np.asarray(samples, dtype=np.uint64)[:, None], len(pairs), axis=1)
    made = threefry(key, first, np.broadcast_to(pairs, first.shape))
    return np.stack(made, axis=-1).reshape(len(first), 2 * len(pairs))[:, :count]


def shares(drawn: np.ndarray) -> np.ndarray:
    """Return words as float64 uniform over [0, 1), in steps of 2**-53."""
    return (drawn >> np.uint64(11)).astype(np.float64) * _UNIT


def uniform(key: Key, samples: np.ndarray, count: int) -> np.ndarray:
    """Return `count` numbers uniform over [0, 1) for each sample, float64 of shape (samples, count)."""
    return shares(words(key, samples, count))


def mixed(values: np.ndarray, constants: Sequence[int] = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)) -> np.ndarray:
    """Scramble 64-bit words one to one: the finaliser of SplitMix64 (Steele, Lea, Flood, 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(constants[0])
    values = (values ^ (values >> np.uint64(27))) * np.uint64(constants[1])
    return values ^ (values >> np.uint64(31))

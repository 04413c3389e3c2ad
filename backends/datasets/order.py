"""Which samples a step takes: a permutation per epoch that can be asked at any place, cut into equal shares.

The permutation is a Feistel network of eight rounds over the smallest even number of bits that holds every place; a
place that it sends outside is sent on until it falls inside (Black, Rogaway, *Ciphers with arbitrary finite domains*,
2002). So the batch of any step is made without going through the earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .faults import wrong_key
from .words import key_of, mixed

if TYPE_CHECKING:
    from .balance import Balance

_ROUNDS = 8
_FEWEST_BITS = 3
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Order:
    """The order of samples.

    Attributes:
        count: Samples of an epoch.
        batch: Samples of one worker's step.
        seed: What the order is drawn from.
        shuffle: Whether each epoch has an order of its own; else samples come as they lie.
        rank: Which worker this is, counting from 0.
        world: Number of workers.
        balance: What draws classes in chosen shares; None to take every sample once per epoch.
    """

    count: int
    batch: int
    seed: int = 0
    shuffle: bool = True
    rank: int = 0
    world: int = 1
    balance: Balance | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.world or self.batch < 1:
            raise wrong_key("data.batch", f"worker {self.rank} of {self.world} with batch {self.batch} cannot be")
        if self.steps < 1:
            raise wrong_key(
                "data.batch",
                f"{self.world} x {self.batch} samples a step are more than the {self.count} there are: "
                "make the batch smaller, use fewer workers, or bring more samples",
            )

    @property
    def steps(self) -> int:
        """Return the steps of an epoch."""
        return self.count // (self.batch * self.world)

    @property
    def dropped(self) -> int:
        """Return how many samples an epoch leaves out, for they fill no step of all workers."""
        return self.count - self.steps * self.batch * self.world

    def at(self, step: int) -> tuple[int, np.ndarray]:
        """Return the epoch of a step, counting from 0, and its samples, int64 of shape (batch,).

        One step of all workers, in the order of their ranks, is what one worker with their common batch would take.
        """
        epoch, within = divmod(step, self.steps)
        places = (within * self.world + self.rank) * self.batch + np.arange(self.batch)
        if self.shuffle:
            places = permuted(epoch_key(self.seed, "order", epoch), np.full(self.batch, self.count), places)
        return epoch, places if self.balance is None else self.balance.at(epoch, places)


def epoch_key(seed: int, purpose: str, epoch: int) -> np.ndarray:
    """Return the key of an epoch, uint64 of shape (1,)."""
    return np.asarray([key_of(seed, f"{purpose}/{epoch}")[0]], dtype=np.uint64)


def permuted(keys: np.ndarray, counts: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return where permutations send places, int64 of shape (n,).

    Args:
        keys: The key of each place's permutation, uint64 of shape (n,) or (1,).
        counts: How many places each permutation has, int64 of shape (n,).
        places: From 0 to `counts - 1`, int64 of shape (n,).
    """
    half = np.maximum((np.frexp((counts - 1).astype(np.float64))[1] + 1) // 2, _FEWEST_BITS).astype(np.uint64)
    limits, keys = counts.astype(np.uint64), np.broadcast_to(keys, places.shape)
    made, pending = places.astype(np.uint64), np.arange(len(places))
    while pending.size:
        made[pending] = _network(keys[pending], half[pending], made[pending])
        pending = pending[made[pending] >= limits[pending]]
    return made.astype(np.int64)


def _network(keys: np.ndarray, half: np.ndarray, values: np.ndarray) -> np.ndarray:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = values >> half, values & mask
    for _ in range(_ROUNDS):
        keys = keys + _GOLDEN
        left, right = right, left ^ (mixed(mixed(right ^ keys) + keys) & mask)
    return (left << half) | right

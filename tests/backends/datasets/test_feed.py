"""Batches of a source: any step alone is what it is in its turn, and prefetching changes nothing."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackproof.backends.datasets.augment import Augment
from stackproof.backends.datasets.balance import Balance
from stackproof.backends.datasets.feed import Feed
from stackproof.backends.datasets.labelled import Labelled
from stackproof.backends.datasets.order import Order
from stackproof.backends.datasets.prefetch import Prefetch
from stackproof.backends.datasets.tokens import Tokens, Windows
from stackproof.backends.errors import InputError

LABELS = np.arange(60) % 3
PIXELS = np.random.default_rng(0).integers(0, 256, (60, 1, 6, 6), dtype=np.uint8)
ALL = Augment(crop=1, flip=True, brightness=0.2, contrast=0.2, noise=0.05, mixup=0.3, cutmix=1.0)


def pictures(**how: Any) -> Feed:
    order = how.pop("order", Order(60, 8, seed=2))
    kept = how.pop("kept", np.arange(60))
    return Feed(Labelled(Path("d"), PIXELS, LABELS), order, kept, classes=3, **how)


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


def test_any_step_alone_is_what_it_is_in_its_turn() -> None:
    made = [pictures(augment=ALL).batch(step) for step in range(20)]
    for step in (19, 3, 12):
        assert same(pictures(augment=ALL).batch(step), made[step])
    assert not any(same(made[0], other) for other in made[1:])


def test_prefetched_batches_are_the_same() -> None:
    feed = pictures(augment=ALL)
    with Prefetch(feed.batch, range(5, 15)) as ahead:
        taken = list(ahead)
    assert len(taken) == 10
    assert all(same(one, feed.batch(step)) for step, one in zip(range(5, 15), taken, strict=True))


def test_workers_together_make_the_batch_of_one() -> None:
    alone = pictures(augment=ALL, order=Order(60, 12, seed=2))
    parts = [pictures(augment=ALL, order=Order(60, 4, seed=2, rank=rank, world=3)).batch(7) for rank in range(3)]
    together = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    assert same(together, alone.batch(7))


def test_without_changes_samples_are_as_they_lie() -> None:
    made = pictures(order=Order(60, 8, shuffle=False)).batch(1)
    assert np.array_equal(made["features"], PIXELS[8:16].astype(np.float32) / np.float32(255))
    assert made["labels"].tolist() == LABELS[8:16].tolist()


def test_what_cleaning_dropped_does_not_come() -> None:
    kept = np.flatnonzero(LABELS != 1)
    feed = pictures(kept=kept, order=Order(40, 8, seed=1))
    assert {int(label) for step in range(10) for label in feed.batch(step)["labels"]} == {0, 2}
    mixed = pictures(kept=kept, order=Order(40, 8, seed=1), augment=Augment(mixup=1.0))
    assert max(float(mixed.batch(step)["targets"][:, 1].max()) for step in range(10)) == 0.0
    with pytest.raises(InputError, match="the order is of 60 samples, and 40 are left after cleaning"):
        pictures(kept=kept)


def test_mixed_labels_are_shares_of_the_pair() -> None:
    plain, mixed = pictures().batch(3), pictures(augment=Augment(mixup=1.0)).batch(3)
    assert "labels" not in mixed
    assert np.abs(mixed["targets"].sum(axis=1) - 1.0).max() < 1e-6
    assert (mixed["targets"][np.arange(8), plain["labels"]] > 0).all()
    assert mixed["targets"].shape == (8, 3)


def test_mixed_targets_are_weighted_means() -> None:
    goals = np.stack([np.arange(60), np.ones(60)], axis=1).astype(np.float64)
    source = Labelled(Path("d"), goals.astype(np.float32), None, goals)
    made = Feed(source, Order(60, 8, seed=2), np.arange(60), Augment(mixup=1.0)).batch(0)
    assert np.abs(made["targets"] - made["features"]).max() < 1e-5


def test_balanced_batches() -> None:
    labels = np.asarray([0] * 50 + [1] * 10)
    order = Order(60, 10, 3, balance=Balance(labels))
    feed = Feed(Labelled(Path("d"), PIXELS, labels), order, np.arange(60), classes=2)
    drawn = np.concatenate([feed.batch(step)["labels"] for step in range(6)])
    assert np.bincount(drawn).tolist() == [30, 30]


def test_tokens_are_handed_out_as_they_are() -> None:
    source = Tokens([Path("t")], [np.arange(50, dtype=np.uint16)], Windows(4))
    made = Feed(source, Order(source.count, 3, shuffle=False), np.arange(source.count)).batch(0)
    assert made["tokens"][:, 0].tolist() == [0, 4, 8]
    assert np.array_equal(made["targets"], made["tokens"] + 1)


def test_at_most_so_many_lie_ready() -> None:
    begun: list[int] = []

    def make(step: int) -> int:
        begun.append(step)
        return step

    with Prefetch(make, range(100), depth=3) as ahead:
        time.sleep(0.1)
        assert len(begun) == 3
        assert next(iter(ahead)) == 0
    assert len(begun) <= 4


def test_an_error_comes_in_its_turn_and_the_thread_ends() -> None:
    def make(step: int) -> int:
        if step == 2:
            raise InputError("d", [])
        return step

    taken = []

    def take() -> None:
        with Prefetch(make, range(9)) as ahead:
            numbers = iter(ahead)
            while True:
                taken.append(next(numbers))

    with pytest.raises(InputError):
        take()
    assert taken == [0, 1]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("stackproof-prefetch")]


def test_leaving_early_ends_the_thread() -> None:
    with Prefetch(lambda step: step, range(10**9)) as ahead:
        assert next(iter(ahead)) == 0
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("stackproof-prefetch")]


def test_the_stall_share_is_the_time_spent_waiting() -> None:
    def slow(step: int) -> int:
        time.sleep(0.02)
        return step

    with Prefetch(slow, range(10)) as ahead:
        for _ in ahead:
            pass
    assert ahead.stall > 0.8
    with Prefetch(lambda step: step, range(10)) as ahead:
        for _ in ahead:
            time.sleep(0.02)
    assert ahead.stall < 0.2
    assert Prefetch(lambda step: step, range(0)).stall == 0.0

"""Orders: every sample once per epoch, equal work for every worker, and any step without the earlier ones."""

from __future__ import annotations

import hashlib
import math
from collections import Counter

import numpy as np
import pytest

from stackproof.backends.datasets.balance import Balance
from stackproof.backends.datasets.order import Order, epoch_key, permuted
from stackproof.backends.errors import InputError


def row(count: int, epoch: int = 0, seed: int = 0) -> list[int]:
    return permuted(epoch_key(seed, "t", epoch), np.full(count, count), np.arange(count)).tolist()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 16, 17, 63, 64, 65, 1000, 4097])
def test_a_permutation_holds_every_place_once(count: int) -> None:
    assert sorted(row(count)) == list(range(count))


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_every_permutation_comes_equally_often(count: int) -> None:
    epochs = 24_000
    keys = np.concatenate([epoch_key(0, "t", epoch) for epoch in range(epochs)])
    columns = [permuted(keys, np.full(epochs, count), np.full(epochs, place)) for place in range(count)]
    found = Counter(map(tuple, np.stack(columns, axis=1).tolist()))
    kinds = math.factorial(count)
    assert len(found) == kinds
    square = sum((times - epochs / kinds) ** 2 / (epochs / kinds) for times in found.values())
    # The chi-square statistic, four of its standard deviations above what is expected.
    assert square < (kinds - 1) + 4 * math.sqrt(2 * (kinds - 1))


def test_places_of_large_permutations_are_evenly_spread() -> None:
    rows = np.asarray([row(300, epoch) for epoch in range(200)])
    # Where place 0 goes, and how far apart two neighbours land, over epochs.
    assert abs(rows.mean(axis=0) - 149.5).max() < 5 * np.sqrt(300**2 / 12 / 200)
    assert abs(np.mean([np.corrcoef(each[:-1], each[1:])[0, 1] for each in rows])) < 5 / np.sqrt(300 * 200)


def by_hand(key: int, count: int, place: int) -> int:
    """Follow the network of one place in Python's integers, as the page on data has it."""
    half, mask = max(3, ((count - 1).bit_length() + 1) // 2), 2**64 - 1

    def mix(value: int) -> int:
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & mask
        value = (value ^ value >> 27) * 0x94D049BB133111EB & mask
        return value ^ value >> 31

    while True:
        left, right, turning = place >> half, place % 2**half, key
        for _ in range(8):
            turning = (turning + 0x9E3779B97F4A7C15) & mask
            left, right = right, left ^ mix((mix(right ^ turning) + turning) & mask) % 2**half
        place = left << half | right
        if place < count:
            return place


@pytest.mark.parametrize("count", [3, 50, 64, 65, 100_000, 2**33 + 1])
def test_the_network_is_the_one_that_is_written_down(count: int) -> None:
    places = np.asarray([0, 1, 2, count // 2, count - 1])
    key = int.from_bytes(hashlib.sha256(b"9/datasets/t/2").digest()[:8], "little")
    expected = [by_hand(key, count, place) for place in places.tolist()]
    assert permuted(epoch_key(9, "t", 2), np.full(5, count), places).tolist() == expected


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize(("count", "batch", "world"), [(103, 5, 4), (40, 5, 1), (64, 8, 8), (7, 1, 3)])
def test_workers_share_an_epoch_without_overlap(count: int, batch: int, world: int, *, shuffle: bool) -> None:
    orders = [Order(count, batch, 1, shuffle, rank, world) for rank in range(world)]
    for epoch in range(2):
        steps = range(epoch * orders[0].steps, (epoch + 1) * orders[0].steps)
        taken = [sample for order in orders for step in steps for sample in order.at(step)[1].tolist()]
        assert len(set(taken)) == len(taken) == count - orders[0].dropped
        assert {order.at(step)[0] for order in orders for step in steps} == {epoch}
    assert orders[0].dropped < batch * world


def test_the_workers_of_a_step_take_what_one_worker_would() -> None:
    alone = Order(100, 12, seed=3)
    together = [Order(100, 4, seed=3, rank=rank, world=3) for rank in range(3)]
    for step in (0, 5, 8, 30):
        assert np.concatenate([order.at(step)[1] for order in together]).tolist() == alone.at(step)[1].tolist()


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    order = Order(64, 64, seed=3)
    first, second = order.at(0)[1].tolist(), order.at(1)[1].tolist()
    assert first != second != list(range(64)) != first
    assert first != Order(64, 64, seed=4).at(0)[1].tolist()
    assert Order(64, 64, shuffle=False).at(5)[1].tolist() == list(range(64))


def test_too_few_samples_are_refused_with_the_mend() -> None:
    with pytest.raises(InputError, match=r"data\.batch: 2 x 8 samples a step are more than the 15 there are: make"):
        Order(15, 8, world=2)
    with pytest.raises(InputError, match="worker 2 of 2"):
        Order(15, 1, rank=2, world=2)


LABELS = np.asarray([0] * 70 + [1] * 20 + [2] * 10)


def classes_of(balance: Balance, size: int, epoch: int) -> list[int]:
    return np.bincount(LABELS[balance.at(epoch, np.arange(size))], minlength=3).tolist()


def test_classes_come_equally_often() -> None:
    balance = Balance(LABELS, size=90)
    assert balance.counts.tolist() == [30, 30, 30]
    assert [classes_of(balance, 90, epoch) for epoch in (0, 3)] == [[30, 30, 30]] * 2


def test_classes_come_by_weight() -> None:
    assert classes_of(Balance(LABELS, (1, 2, 1), size=100), 100, 2) == [25, 50, 25]
    assert classes_of(Balance(LABELS, (1, 0, 3), size=100), 100, 0) == [25, 0, 75]
    # 33.3 each: the first has the largest remainder of equal ones.
    assert Balance(LABELS).counts.tolist() == [34, 33, 33]
    # 1/10 is no number of base two: the counts are exact all the same.
    assert Balance(LABELS, (0.1, 0.2, 0.7), size=1000).counts.tolist() == [100, 200, 700]


def test_a_class_goes_round_before_a_sample_comes_again() -> None:
    balance = Balance(LABELS, size=90)
    taken = np.concatenate([balance.at(epoch, np.arange(90)) for epoch in range(7)])
    times = np.bincount(taken, minlength=100)
    assert times[:70].tolist() == [3] * 70
    assert times[70:90].max() - times[70:90].min() <= 1
    assert times[90:].tolist() == [21] * 10


def test_turns_of_a_class_have_orders_of_their_own() -> None:
    balance = Balance(LABELS, size=90)
    small = balance.at(0, np.arange(60, 90))
    assert small[:10].tolist() != small[10:20].tolist() != small[20:].tolist()


def test_a_balanced_order_is_spread_over_the_epoch_and_workers() -> None:
    balance = Balance(LABELS, size=96)
    orders = [Order(96, 8, 5, rank=rank, world=2, balance=balance) for rank in range(2)]
    taken = [order.at(step)[1] for step in range(6) for order in orders]
    assert np.bincount(LABELS[np.concatenate(taken)]).tolist() == [32, 32, 32]
    assert len({tuple(sorted(LABELS[part].tolist())) for part in taken}) > 3


@pytest.mark.parametrize(
    ("weights", "what"),
    [
        ((1.0, 1.0, 1.0, 1.0), "class 3 has no samples: set its weight to 0"),
        ((1.0, 1.0), "has 2 weights for 3 classes"),
        ((1.0, -1.0, 1.0), "has a weight that is negative or not finite"),
        ((0.0, 0.0, 0.0), "none above 0"),
        ((1.0, float("nan"), 1.0), "not finite"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: tuple[float, ...], what: str) -> None:
    with pytest.raises(InputError, match=what):
        Balance(LABELS, weights)

"""The ratio of two speeds and its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.matrix.judge.throughput import compare_pairs, coverage, interval

# Ranks of the order statistics, counted from 1, that enclose the median with at least 95 %: the tables of the sign
# test's interval (Conover, Practical Nonparametric Statistics, 3rd edition, 1999; Hahn and Meeker, Statistical
# Intervals, 1991, table A.15).
RANKS = {
    6: (1, 6),
    7: (1, 7),
    8: (1, 8),
    9: (2, 8),
    10: (2, 9),
    11: (2, 10),
    12: (3, 10),
    13: (3, 11),
    14: (3, 12),
    15: (4, 12),
    16: (4, 13),
    17: (5, 13),
    20: (6, 15),
    25: (8, 18),
    30: (10, 21),
    40: (14, 27),
    50: (18, 33),
}
RATIOS = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=60)


@pytest.mark.parametrize(("count", "ranks"), RANKS.items())
def test_the_interval_is_that_of_the_published_tables(count: int, ranks: tuple[int, int]) -> None:
    shuffled = np.random.default_rng(0).permutation(np.arange(1.0, count + 1))
    assert interval(shuffled) == ranks


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_too_few_rounds_give_their_extremes(count: int) -> None:
    assert interval(np.arange(1.0, count + 1)) == (1.0, float(count))


@pytest.mark.parametrize(("count", "covers"), [(1, 0.0), (2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375)])
def test_too_few_rounds_state_the_confidence_that_they_have(count: int, covers: float) -> None:
    assert coverage(count) == covers
    assert compare_pairs([(1.0, 1.0)] * count, "base", 1).confidence == covers


@pytest.mark.parametrize("count", [6, 15, 1000])
def test_enough_rounds_state_the_confidence_that_was_asked(count: int) -> None:
    assert compare_pairs([(1.0, 1.0)] * count, "base", 1).confidence == 0.95


@pytest.mark.parametrize("count", range(6, 61))
def test_the_interval_covers_as_promised_and_the_next_narrower_one_does_not(count: int) -> None:
    low, high = interval(np.arange(1.0, count + 1))
    assert low + high == count + 1
    missed = [2 * sum(math.comb(count, k) for k in range(int(low) + narrower)) / 2**count for narrower in (0, 1)]
    assert missed[0] <= 0.05 < missed[1]


@given(RATIOS)
def test_the_interval_holds_the_median_and_is_of_values_seen(values: list[float]) -> None:
    low, high = interval(np.array(values))
    assert low <= np.median(values) <= high
    assert {low, high} <= set(values)


@given(RATIOS, st.randoms(use_true_random=False))
def test_the_order_of_rounds_does_not_matter(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert interval(np.array(shuffled)) == interval(np.array(values))


@given(st.lists(st.tuples(st.floats(0.01, 10.0), st.floats(0.01, 10.0)), min_size=1, max_size=30), st.integers(-20, 20))
def test_the_ratio_does_not_depend_on_the_unit_of_time(pairs: list[tuple[float, float]], power: int) -> None:
    unit = 2.0**power
    ours, scaled = (
        compare_pairs(given, "base", 8) for given in (pairs, [(base * unit, mine * unit) for base, mine in pairs])
    )
    assert (ours.ratio, ours.low, ours.high, ours.rounds) == (scaled.ratio, scaled.low, scaled.high, scaled.rounds)
    assert scaled.steps_per_second * unit == pytest.approx(ours.steps_per_second)


def test_a_candidate_that_takes_half_the_time_is_twice_as_fast() -> None:
    found = compare_pairs([(1.0, 0.5)] * 15, "torch2.13.0-py311-tiny", steps=20)
    assert (found.ratio, found.low, found.high) == (2.0, 2.0, 2.0)
    assert found.steps_per_second == 40.0
    assert (found.baseline, found.rounds) == ("torch2.13.0-py311-tiny", (2.0,) * 15)


def test_the_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    # A round in which the machine was ten times slower for both does not count more than another.
    found = compare_pairs([(1.0, 2.0), (10.0, 20.0), (1.0, 1.0), (1.0, 4.0), (8.0, 1.0)], "base", 1)
    assert found.rounds == (0.5, 0.5, 1.0, 0.25, 8.0)
    assert (found.ratio, found.low, found.high) == (0.5, 0.25, 8.0)
    assert found.steps_per_second == 0.5


def test_an_even_number_of_rounds_has_the_mean_of_the_two_in_the_middle() -> None:
    assert compare_pairs([(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (4.0, 1.0)], "base", 1).ratio == 2.5

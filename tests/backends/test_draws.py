"""Random numbers: the published stream, and what is made of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.backends import draws

# The first words of numpy's own test set for PCG64 (numpy/random/tests/data/pcg64-testset-1.csv).
PUBLISHED_SEED = 0xDEADBEAF
PUBLISHED = (0x60D24054E17A0698, 0xD5E79D89856E4F12, 0xD254972FE64BD782, 0xF1E3072A53C72571, 0xD7C1D7393D4115C9)
SEEDS = st.integers(0, 2**64 - 1)


def pcg64(seed: int, count: int) -> list[int]:
    """Return words of PCG64 (XSL-RR 128/64; O'Neill, HMC-CS-2014-0905), written down here with Python's integers."""
    high, low, stream_high, stream_low = seed_words(seed)
    mask = 2**128 - 1
    increment = ((stream_high << 64 | stream_low) << 1 | 1) & mask
    multiplier = 0x2360ED051FC65DA44385DF649FCCF645
    state = (increment + (high << 64 | low)) * multiplier + increment & mask
    words = []
    for _ in range(count):
        state = state * multiplier + increment & mask
        folded, turn = (state >> 64 ^ state) & (2**64 - 1), state >> 122
        words.append((folded >> turn | folded << (-turn & 63)) & (2**64 - 1))
    return words


def seed_words(seed: int) -> list[int]:
    """Return the four words that numpy's SeedSequence makes of a seed (O'Neill, seed_seq_fe, 2015)."""
    mask, pool = 2**32 - 1, [0, 0, 0, 0]
    hashing = 0x43B0D7E5

    def hashed(value: int) -> int:
        nonlocal hashing
        value ^= hashing
        hashing = hashing * 0x931E8875 & mask
        value = value * hashing & mask
        return value ^ value >> 16

    def mixed(left: int, right: int) -> int:
        value = 0xCA01F9DD * left - 0x4973F715 * right & mask
        return value ^ value >> 16

    entropy = [seed & mask, seed >> 32] if seed >> 32 else [seed]
    pool = [hashed(entropy[place] if place < len(entropy) else 0) for place in range(4)]
    for source in range(4):
        for target in range(4):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source]))
    constant, halves = 0x8B51F9DD, []
    for place in range(8):
        value = pool[place % 4] ^ constant
        constant = constant * 0x58F38DED & mask
        value = value * constant & mask
        halves.append(value ^ value >> 16)
    return [halves[2 * place] | halves[2 * place + 1] << 32 for place in range(4)]


def test_the_stream_is_the_published_one() -> None:
    assert tuple(int(word) for word in draws.raw(PUBLISHED_SEED, 5)) == PUBLISHED
    assert tuple(pcg64(PUBLISHED_SEED, 5)) == PUBLISHED


@given(SEEDS)
def test_the_stream_of_any_seed_is_pcg64s(seed: int) -> None:
    words = draws.raw(seed, 3)
    assert words.dtype == np.uint64
    assert [int(word) for word in words] == pcg64(seed, 3)


@given(SEEDS)
def test_uniform_numbers_are_the_upper_53_bits(seed: int) -> None:
    expected = [(word >> 11) / 2**53 for word in pcg64(seed, 6)]
    found = draws.uniform(seed, (2, 3))
    assert (found.dtype, found.shape) == (np.float64, (2, 3))
    assert found.ravel().tolist() == expected


@given(SEEDS, st.integers(1, 2**31))
def test_integers_are_the_uniform_numbers_scaled(seed: int, bound: int) -> None:
    expected = [(word >> 11) * bound >> 53 for word in pcg64(seed, 4)]
    found = draws.integers(seed, bound, (4,))
    assert found.dtype == np.int64
    assert found.tolist() == expected


@given(SEEDS)
def test_signs_are_the_uppermost_bit(seed: int) -> None:
    expected = [1.0 if word >> 63 else -1.0 for word in pcg64(seed, 5)]
    assert draws.signs(seed, (5,)).tolist() == expected


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (3, 2)])
def test_any_shape_can_be_drawn(shape: tuple[int, ...]) -> None:
    for made in (draws.uniform(1, shape), draws.integers(1, 5, shape), draws.signs(1, shape)):
        assert made.shape == shape


@pytest.mark.parametrize(("word", "number", "sign"), [(0, 0.0, -1.0), (2**64 - 1, 1.0 - 2.0**-53, 1.0)])
def test_the_extreme_words_stay_in_range(
    monkeypatch: pytest.MonkeyPatch, word: int, number: float, sign: float
) -> None:
    monkeypatch.setattr(draws, "raw", lambda _seed, count: np.full(count, word, dtype=np.uint64))
    assert draws.uniform(0, (2,)).tolist() == [number, number]
    assert draws.signs(0, (2,)).tolist() == [sign, sign]
    for bound in (1, 2, 3, 10, 2**31 - 1, 2**31):
        assert draws.integers(0, bound, (1,)).tolist() == [0 if word == 0 else bound - 1]


def test_numbers_are_spread_evenly() -> None:
    count = 100_000
    # Four standard deviations: of a mean of uniform numbers, of a share of a tenth, of a sum of signs.
    assert abs(draws.uniform(7, (count,)).mean() - 0.5) < 4 * np.sqrt(1 / 12 / count)
    shares = np.bincount(draws.integers(7, 10, (count,)), minlength=10) / count
    assert np.abs(shares - 0.1).max() < 4 * np.sqrt(0.09 / count)
    assert abs(draws.signs(7, (count,)).mean()) < 4 / np.sqrt(count)

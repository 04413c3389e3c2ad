"""Words by counter: the published answers, and deviates held against the standard library."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from stackproof.backends.datasets.deviates import beta, exp, log, normal
from stackproof.backends.datasets.words import key_of, shares, threefry, uniform, words

ONES = 2**64 - 1
PI = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)


# The known answers of Random123's `kat_vectors` for threefry2x64 with 20 rounds.
@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ((0, 0), (0, 0), (0xC2B6E3A8C2C69865, 0x6F81ED42F350084D)),
        ((ONES, ONES), (ONES, ONES), (0xE02CB7C4D95D277A, 0xD06633D0893B8B68)),
        (PI[:2], PI[2:], (0x263C7D30BB0F0AF1, 0x56BE8361D3311526)),
    ],
)
def test_threefry_gives_the_published_words(
    counter: tuple[int, int], key: tuple[int, int], answer: tuple[int, int]
) -> None:
    made = threefry(key, *(np.asarray([word], dtype=np.uint64) for word in counter))
    assert tuple(int(word[0]) for word in made) == answer


def test_a_word_depends_on_its_sample_and_place_only() -> None:
    key = key_of(3, "test")
    whole = words(key, np.arange(50), 7)
    assert np.array_equal(words(key, np.asarray([41, 7]), 3), whole[[41, 7], :3])
    assert len(np.unique(whole)) == whole.size
    assert not np.isin(words(key_of(3, "other"), np.arange(50), 7), whole).any()


def test_shares_are_uniform() -> None:
    drawn = uniform(key_of(0, "u"), np.arange(20_000), 5)
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    found = np.histogram(drawn, bins=100, range=(0, 1))[0]
    # Chi-square with 99 degrees of freedom: 160 has a probability below 1e-4.
    assert ((found - 1000.0) ** 2 / 1000.0).sum() < 160
    assert shares(np.asarray([ONES], dtype=np.uint64))[0] == 1.0 - 2.0**-53


@pytest.mark.parametrize("scale", [1e-300, 1e-10, 0.3, 1.0, 7.0, 1e200])
def test_logarithms_are_those_of_the_standard_library(scale: float) -> None:
    at = (np.linspace(0.5, 2.0, 501)) * scale
    expected = np.asarray([math.log(value) for value in at])
    assert np.abs(log(at) - expected).max() <= 4e-16 * max(1.0, np.abs(expected).max())


def test_exponentials_are_those_of_the_standard_library() -> None:
    at = np.linspace(-700, 700, 4001)
    expected = np.asarray([math.exp(value) for value in at])
    assert (np.abs(exp(at) / expected - 1.0)).max() <= 5e-16
    assert exp(np.asarray([-1e9, -800.0]))[0] == pytest.approx(0.0, abs=1e-320)


def test_normal_numbers_are_quantiles() -> None:
    edge = [0, 1, 2**20, 2**40, 2**50, 2**52 - 1, 2**52, 2**53 - 2**45, 2**53 - 2**10]
    even = [place * (2**53 // 1000) for place in range(1, 1000)]
    expected = [NormalDist().inv_cdf(place * 2.0**-53 + 2.0**-54) for place in (*edge, *even)]
    drawn = np.asarray([*edge, *even], dtype=np.uint64) << np.uint64(11)
    assert np.allclose(normal(drawn), expected, rtol=1e-14, atol=1e-16)


def test_the_largest_word_gives_a_finite_number() -> None:
    assert np.isfinite(normal(np.asarray([ONES, 0], dtype=np.uint64))).all()


def test_normal_numbers_have_the_moments() -> None:
    drawn = normal(words(key_of(1, "n"), np.arange(1000), 400))
    assert np.isfinite(drawn).all()
    assert abs(drawn.mean()) < 4 / math.sqrt(drawn.size)
    assert abs(drawn.var() - 1.0) < 4 * math.sqrt(2 / drawn.size)


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.5, 1.0, 2.0, 4.0])
def test_beta_numbers_have_the_moments(alpha: float) -> None:
    drawn = beta(key_of(1, "b"), np.arange(40_000), alpha)
    variance = 1.0 / (4.0 * (2.0 * alpha + 1.0))
    assert drawn.min() >= 0.0
    assert drawn.max() <= 1.0
    assert abs(drawn.mean() - 0.5) < 4 * math.sqrt(variance / drawn.size)
    # The fourth central moment of a symmetric beta distribution gives the error of the variance.
    fourth = 3.0 / (16.0 * (2.0 * alpha + 1.0) * (2.0 * alpha + 3.0))
    assert abs(drawn.var() - variance) < 4 * math.sqrt((fourth - variance**2) / drawn.size)


def test_a_beta_number_depends_on_its_sample_only() -> None:
    key = key_of(2, "b")
    assert np.array_equal(beta(key, np.asarray([77, 5]), 0.3), beta(key, np.arange(100), 0.3)[[77, 5]])

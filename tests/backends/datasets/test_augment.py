"""Changes at random: each does what its formula says, and depends on seed, epoch and sample alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stackproof.backends.datasets.augment import Augment, changed
from stackproof.backends.datasets.mixing import mixed_pair, partners, soft_labels

SAMPLES = np.arange(400)


def images(count: int = 400, channels: int = 3, height: int = 6, width: int = 8) -> np.ndarray:
    generator = np.random.default_rng(0)
    return (0.1 + 0.8 * generator.random((count, channels, height, width))).astype(np.float32)


def apply(features: np.ndarray, samples: np.ndarray = SAMPLES, epoch: int = 0, **how: Any) -> np.ndarray:
    return changed(features, samples, Augment(**how), 5, epoch)


ALL = {"crop": 2, "flip": True, "brightness": 0.3, "contrast": 0.4, "noise": 0.1}


def test_a_change_depends_on_seed_epoch_and_sample_only() -> None:
    features = images()
    whole = apply(features, **ALL)
    some = np.asarray([70, 3, 399])
    assert np.array_equal(apply(features[some], some, **ALL), whole[some])
    assert not np.array_equal(apply(features, epoch=1, **ALL), whole)
    assert not np.array_equal(changed(features, SAMPLES, Augment(**ALL), 6, 0), whole)
    assert not np.array_equal(apply(features, SAMPLES + 1, **ALL), whole)
    assert whole.dtype == np.float32
    assert whole.shape == features.shape


def test_nothing_asked_for_changes_nothing() -> None:
    assert np.array_equal(apply(images()), images())


def test_a_crop_is_a_cut_of_the_padded_image() -> None:
    features = images()
    padded = np.pad(features, ((0, 0), (0, 0), (2, 2), (2, 2)))
    places = []
    for before, after in zip(padded, apply(features, crop=2), strict=True):
        fits = [
            (top, left)
            for top in range(5)
            for left in range(5)
            if np.array_equal(before[:, top : top + 6, left : left + 8], after)
        ]
        assert len(fits) == 1
        places += fits
    counts = np.unique(places, axis=0, return_counts=True)[1]
    assert len(counts) == 25
    assert ((counts - 16.0) ** 2 / 16.0).sum() < 60  # chi-square, 24 degrees of freedom


def test_half_of_the_images_are_mirrored() -> None:
    features = images()
    after = apply(features, flip=True)
    mirrored = np.asarray([np.array_equal(one, two[..., ::-1]) for one, two in zip(after, features, strict=True)])
    same = np.asarray([np.array_equal(one, two) for one, two in zip(after, features, strict=True)])
    assert (mirrored ^ same).all()
    assert 160 < mirrored.sum() < 240


def test_brightness_is_one_factor_for_an_image() -> None:
    features = images() * np.float32(0.5)
    factors = (apply(features, brightness=0.5) / features).reshape(400, -1)
    assert np.abs(factors - factors[:, :1]).max() < 1e-6
    assert 0.5 <= factors.min() < 0.52
    assert 1.48 < factors.max() <= 1.5 + 1e-6


def test_contrast_leaves_the_mean() -> None:
    features = np.float32(0.3) + images() * np.float32(0.4)
    after = apply(features, contrast=0.5).astype(np.float64)
    assert np.abs(after.mean(axis=(1, 2, 3)) - features.mean(axis=(1, 2, 3), dtype=np.float64)).max() < 1e-6
    factors = after.std(axis=(1, 2, 3)) / features.std(axis=(1, 2, 3), dtype=np.float64)
    assert 0.5 <= factors.min() < 0.52
    assert 1.48 < factors.max() <= 1.5 + 1e-5


def test_tones_stay_between_black_and_white() -> None:
    features = images()
    for how in ({"brightness": 0.9}, {"contrast": 0.9}):
        after = apply(features, **how)
        assert after.min() >= 0.0
        assert after.max() <= 1.0


@pytest.mark.parametrize("features", [images(), np.zeros((400, 50), np.float32)])
def test_noise_is_normal(features: np.ndarray) -> None:
    added = (apply(features, noise=0.25) - features) / 0.25
    assert abs(added.mean()) < 4 / math.sqrt(added.size)
    assert abs(added.var() - 1.0) < 4 * math.sqrt(2 / added.size) + 1e-5
    # Between neighbours and samples there is nothing in common.
    flat = added.reshape(400, -1)
    assert abs(np.corrcoef(flat[:, 0], flat[:, 1])[0, 1]) < 0.2
    assert abs(np.corrcoef(flat[0], flat[1])[0, 1]) < 0.6


def test_vectors_take_noise_only() -> None:
    vectors = np.random.default_rng(0).random((400, 9), dtype=np.float32)
    assert np.array_equal(apply(vectors, crop=1, flip=True, brightness=0.5, contrast=0.5), vectors)


def mix(pair: tuple[np.ndarray, np.ndarray], samples: np.ndarray = SAMPLES, **how: Any) -> tuple[Any, Any]:
    return mixed_pair(pair, samples, Augment(**how), 5, 0)


def test_mixup_is_a_weighted_mean() -> None:
    pair = images(), images()[::-1]
    made, share = mix(pair, mixup=0.4)
    by = share[:, None, None, None].astype(np.float64)
    assert np.abs(made - (pair[0] * by + pair[1] * (1.0 - by))).max() < 1e-6
    # Beta(0.4, 0.4): variance 1 / (4 * 1.8).
    assert abs(share.mean() - 0.5) < 4 * math.sqrt(1 / 7.2 / 400)
    assert abs(share.var() - 1 / 7.2) < 0.03


def test_mixup_of_vectors() -> None:
    vectors = np.random.default_rng(0).random((400, 9), dtype=np.float32)
    made, share = mix((vectors, np.zeros_like(vectors)), mixup=1.0)
    assert np.array_equal(made, vectors * share[:, None])


def test_cutmix_sets_in_one_box_of_the_partner() -> None:
    ones = np.ones((400, 2, 20, 30), np.float32)
    made, share = mix((ones, ones * np.float32(0.0)), cutmix=1.0)
    assert set(np.unique(made)) == {0.0, 1.0}
    assert np.array_equal(made[:, 0], made[:, 1])
    for one, stays in zip(made[:, 0], share, strict=True):
        rows, columns = np.flatnonzero((one == 0).any(axis=1)), np.flatnonzero((one == 0).any(axis=0))
        assert (one == 0).sum() == len(rows) * len(columns)
        if len(rows):
            assert rows[-1] - rows[0] + 1 == len(rows)
            assert columns[-1] - columns[0] + 1 == len(columns)
        assert stays == np.float32(one.mean(dtype=np.float64))
    assert 0.5 < share.mean() < 0.75  # above one half, for what sticks out is cut off


def test_both_take_turns() -> None:
    pair = np.ones((400, 1, 16, 16), np.float32), np.zeros((400, 1, 16, 16), np.float32)
    made, _ = mix(pair, mixup=1.0, cutmix=1.0)
    blended = np.asarray([len(np.unique(one)) == 1 and 0 < one[0, 0, 0] < 1 for one in made])
    assert 160 < blended.sum() < 240


def test_a_mixture_depends_on_its_sample_only() -> None:
    pair, some = (images(), images()[::-1]), np.asarray([9, 333])
    whole, share = mix(pair, mixup=0.3, cutmix=0.7)
    part, own = mix((pair[0][some], pair[1][some]), some, mixup=0.3, cutmix=0.7)
    assert np.array_equal(part, whole[some])
    assert np.array_equal(own, share[some])


def test_partners_come_from_everywhere() -> None:
    found = partners(np.arange(5000), 10, 0, 0)
    assert np.bincount(found, minlength=10).min() > 400
    assert found.max() == 9
    assert not np.array_equal(found, partners(np.arange(5000), 10, 0, 1))
    assert np.array_equal(partners(np.asarray([44]), 10, 0, 0), found[44:45])


def test_labels_of_a_mixture_are_shares() -> None:
    share = np.asarray([0.25, 0.5], np.float32)
    made = soft_labels((np.asarray([0, 2]), np.asarray([1, 2])), share, 3)
    assert made.tolist() == [[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]
    assert made.dtype == np.float32

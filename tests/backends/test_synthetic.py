"""Masked tokens and pixels: their structure is really there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stackproof.backends.data import batch, batches_digest
from stackproof.backends.spec import Bert, Data, Optimizer, Schedule, Spec, Train, Unet


def masked(batch_size: int = 4, noise: float = 0.0, ignored: int | None = -1, **model: Any) -> Spec:
    sizes = {"context": 40, "vocabulary": 33, **model}
    train = Train(ignore_label=ignored)
    return Spec("m", Bert(**sizes), Data("masked-tokens", batch_size, noise), Optimizer(), Schedule(), train)


def pixels(batch_size: int = 8, noise: float = 0.1, outputs: int = 3, **train: Any) -> Spec:
    model = Unet(image=(2, 10, 16), outputs=outputs)
    return Spec("p", model, Data("pixels", batch_size, noise), Optimizer(), Schedule(), Train(**train))


@pytest.mark.parametrize(("context", "count"), [(1, 1), (4, 1), (20, 3), (40, 6), (512, 77)])
def test_as_many_places_are_chosen_in_every_sample(context: int, count: int) -> None:
    targets = batch(masked(context=context), 0)["targets"]
    assert ((targets != -1).sum(axis=1) == count).all()


def test_chosen_places_are_masked_replaced_or_left_as_the_paper_says() -> None:
    made = batch(masked(batch_size=2000), 0)
    chosen = made["targets"] != -1
    shown, held = made["tokens"][chosen], made["targets"][chosen]
    assert np.mean(shown == 32) == pytest.approx(0.8, abs=0.02)
    # One in 32 of the drawn tokens is the one that was there.
    assert np.mean(shown == held) == pytest.approx(0.1 + 0.1 / 32, abs=0.02)


def test_what_is_not_chosen_follows_from_the_token_before_it() -> None:
    made = batch(masked(), 3)
    whole = np.where(made["targets"] == -1, made["tokens"], made["targets"])
    assert np.array_equal(whole[:, 1:], (5 * whole[:, :-1] + 3) % 32)
    assert whole.max() < 32


def test_without_an_ignored_label_every_token_is_a_target() -> None:
    some, every = batch(masked(), 0), batch(masked(ignored=None), 0)
    assert np.array_equal(some["tokens"], every["tokens"])
    assert np.array_equal(every["targets"], np.where(some["targets"] == -1, some["tokens"], some["targets"]))


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_segments_follow_each_other(segments: int) -> None:
    made = batch(masked(segments=segments), 0)["segments"]
    assert (made == made[0]).all()
    assert (np.diff(made[0]) >= 0).all()
    assert set(made[0].tolist()) == set(range(segments))
    assert np.bincount(made[0]).max() - np.bincount(made[0]).min() <= 1


def test_a_pixel_lies_around_the_colour_of_its_class() -> None:
    quiet, noisy = batch(pixels(noise=0.0), 1), batch(pixels(), 1)
    labels = quiet["labels"]
    assert np.array_equal(labels, noisy["labels"])
    assert set(np.unique(labels).tolist()) == {0, 1, 2}
    for label in range(3):
        colours = np.moveaxis(quiet["features"], 1, -1)[labels == label]
        assert len(np.unique(colours, axis=0)) == 1
    away = np.abs(noisy["features"] - quiet["features"])
    assert 0.05 < away.max() <= 0.1 + 1e-6


def test_classes_are_squares_cut_off_at_the_border() -> None:
    labels = batch(pixels(), 0)["labels"]
    assert labels.shape == (8, 10, 16)
    for row in range(0, 10, 4):
        for column in range(0, 16, 4):
            square = labels[:, row : row + 4, column : column + 4].reshape(8, -1)
            assert (square == square[:, :1]).all()


def test_goals_of_a_pixel_depend_on_its_class_only() -> None:
    named, made = batch(pixels(), 0), batch(pixels(loss="mean-squared-error"), 0)
    assert np.array_equal(named["features"], made["features"])
    goals = np.moveaxis(made["targets"], 1, -1)
    for label in range(3):
        assert len(np.unique(goals[named["labels"] == label], axis=0)) == 1
    assert len(np.unique(goals.reshape(-1, 3), axis=0)) == 3


def test_ignored_labels_of_pixels_are_a_share() -> None:
    labels = batch(pixels(batch_size=50, ignore_label=-5), 0)["labels"]
    assert np.mean(labels == -5) == pytest.approx(1 / 8, abs=0.02)


@pytest.mark.parametrize("spec", [masked(), pixels()], ids=lambda spec: spec.name)
def test_the_same_step_is_the_same_bits_and_another_is_not(spec: Spec) -> None:
    assert batches_digest([batch(spec, 1)]) == batches_digest([batch(spec, 1)])
    assert batches_digest([batch(spec, 1)]) != batches_digest([batch(spec, 2)])
    other = replace(spec, train=replace(spec.train, seed=1))
    assert batches_digest([batch(spec, 1)]) != batches_digest([batch(other, 1)])
    assert all(value.flags.c_contiguous for value in batch(spec, 1).values())

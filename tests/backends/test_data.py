"""Synthetic data: its structure is really there, and its bits are the same everywhere."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stackproof.backends.data import batch, batches, batches_digest
from stackproof.backends.draws import integers, uniform
from stackproof.backends.spec import Cnn, Data, Gpt, Mlp, Optimizer, Schedule, Spec, Train

GPT = Gpt(context=12, vocabulary=32)


def tokens(batch_size: int = 4, noise: float = 0.1, **train: Any) -> Spec:
    return Spec("t", GPT, Data("tokens", batch_size, noise), Optimizer(), Schedule(), Train(**train))


def vectors(noise: float = 0.1, outputs: int = 4, batch_size: int = 64, **train: Any) -> Spec:
    model = Mlp(inputs=6, outputs=outputs)
    return Spec("v", model, Data("vectors", batch_size, noise), Optimizer(), Schedule(), Train(**train))


def images(**train: Any) -> Spec:
    return Spec("i", Cnn(image=(2, 4, 8)), Data("images", 16, 0.1), Optimizer(), Schedule(), Train(**train))


def described(spec: Spec) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: (value.dtype.name, value.shape) for name, value in batch(spec, 0).items()}


def test_shapes_and_types() -> None:
    assert described(tokens()) == {"tokens": ("int64", (4, 12)), "targets": ("int64", (4, 12))}
    assert described(vectors()) == {"features": ("float32", (64, 6)), "labels": ("int64", (64,))}
    assert described(images()) == {"features": ("float32", (16, 2, 4, 8)), "labels": ("int64", (16,))}
    goals = {"features": ("float32", (64, 6)), "targets": ("float32", (64, 4))}
    assert described(vectors(loss="mean-squared-error")) == goals
    single = described(vectors(loss="mean-squared-error", outputs=1))
    assert single["targets"] == ("float32", (64, 1))


def test_targets_are_the_next_tokens() -> None:
    made = batch(tokens(), 0)
    assert np.array_equal(made["tokens"][:, 1:], made["targets"][:, :-1])
    assert all(value.flags.c_contiguous for value in made.values())


def test_without_noise_every_token_follows_from_the_last() -> None:
    made = batch(tokens(noise=0.0), 5)
    assert np.array_equal(made["targets"], (5 * made["tokens"] + 3) % 32)


@pytest.mark.parametrize("noise", [0.1, 0.5, 1.0])
def test_noise_is_the_share_of_tokens_that_do_not_follow(noise: float) -> None:
    made = batch(tokens(batch_size=500, noise=noise), 0)
    strays = np.mean(made["targets"] != (5 * made["tokens"] + 3) % 32)
    # One in 32 of the random tokens is the one that would have followed.
    expected, count = noise * 31 / 32, made["targets"].size
    assert abs(strays - expected) < 4 * np.sqrt(expected * (1 - expected) / count) + 1e-12


def test_first_tokens_cover_the_vocabulary() -> None:
    firsts = batch(tokens(batch_size=2000), 0)["tokens"][:, 0]
    shares = np.bincount(firsts, minlength=32) / 2000
    assert np.abs(shares - 1 / 32).max() < 4 * np.sqrt(1 / 32 / 2000)


@pytest.mark.parametrize("make", [vectors, images])
def test_samples_of_a_class_lie_around_its_prototype(make: Any) -> None:
    spec = make(steps=4)
    first = [batch(replace(spec, data=replace(spec.data, noise=0.0)), step) for step in range(4)]
    prototypes = {
        int(label): row for made in first for label, row in zip(made["labels"], made["features"], strict=True)
    }
    assert len(prototypes) == 4
    assert all(np.abs(row).max() <= 1.0 for row in prototypes.values())
    for step in range(4):
        made = batch(spec, step)
        centre = np.stack([prototypes[int(label)] for label in made["labels"]])
        away = np.abs(made["features"] - centre)
        assert 0.05 < away.max() <= 0.1 + 1e-6


def test_labels_can_be_learned_from_features() -> None:
    spec = vectors(batch_size=200)
    train, test = batch(spec, 0), batch(spec, 1)
    centres = np.stack([train["features"][train["labels"] == label].mean(axis=0) for label in range(4)])
    nearest = np.argmin(np.linalg.norm(test["features"][:, None] - centres[None], axis=2), axis=1)
    assert np.mean(nearest == test["labels"]) == 1.0
    assert set(test["labels"].tolist()) == {0, 1, 2, 3}


def test_goals_depend_on_the_class_only() -> None:
    spec = vectors(loss="mean-squared-error", noise=0.0)
    made = [batch(spec, step) for step in range(3)]
    pairs = {
        (features.tobytes(), goal.tobytes())
        for entry in made
        for features, goal in zip(entry["features"], entry["targets"], strict=True)
    }
    assert len(pairs) == 4
    assert len({goal for _, goal in pairs}) == 4


def test_one_goal_still_has_two_classes_to_tell_apart() -> None:
    made = batch(vectors(loss="mean-squared-error", outputs=1, noise=0.0), 0)
    assert len(np.unique(made["targets"])) == 2


@pytest.mark.parametrize("spec", [tokens(), vectors(), images(), vectors(loss="mean-squared-error")])
def test_the_same_step_is_the_same_bits_and_another_is_not(spec: Spec) -> None:
    assert batches_digest([batch(spec, 1)]) == batches_digest([batch(spec, 1)])
    assert batches_digest([batch(spec, 1)]) != batches_digest([batch(spec, 2)])
    other = replace(spec, train=replace(spec.train, seed=1))
    assert batches_digest([batch(spec, 1)]) != batches_digest([batch(other, 1)])


def test_batches_are_those_of_every_step_in_order() -> None:
    spec = vectors(steps=3)
    made = batches(spec)
    assert batches_digest(made) == batches_digest([batch(spec, step) for step in range(3)])
    assert batches_digest(made) != batches_digest(made[::-1])
    assert batches_digest(made) != batches_digest(made[:2])


@pytest.mark.parametrize("spec", [tokens(), vectors(), images(), vectors(loss="mean-squared-error")])
def test_micro_batches_are_those_of_a_run_without_accumulation(spec: Spec) -> None:
    several = replace(spec, train=replace(spec.train, accumulate=3))
    for step in range(2):
        made = batch(several, step)
        for place in range(3):
            right = batch(spec, 3 * step + place)
            assert made.keys() == right.keys()
            assert all(np.array_equal(made[name][place], value) for name, value in right.items())
    assert batches_digest([batch(several, 0)]) != batches_digest([batch(spec, 0)])


def test_micro_batches_say_what_they_count_where_labels_weigh_differently() -> None:
    several = vectors(batch_size=4, accumulate=3, class_weights=(1.0, 2.0, 3.0, 4.0))
    made = batch(several, 0)
    sums = (made["labels"] + 1).sum(axis=1)
    assert made["accumulate.share"] == pytest.approx(sums / sums.sum(), rel=1e-15)
    assert "accumulate.share" not in batch(vectors(batch_size=4, accumulate=3), 0)
    assert "accumulate.share" not in batch(vectors(batch_size=4, class_weights=(1.0, 2.0, 3.0, 4.0)), 0)


def test_tokens_are_the_documented_draws() -> None:
    # Worked out from the streams of the seed, one token at a time.
    def key(purpose: str) -> int:
        return int.from_bytes(hashlib.sha256(f"9/data/{purpose}".encode()).digest()[:8], "little")

    drawn, stray = integers(key("tokens/2"), 32, (4, 13)), uniform(key("stray/2"), (4, 13))
    for row in range(4):
        for column in range(1, 13):
            if stray[row, column] >= 0.1:
                drawn[row, column] = (5 * drawn[row, column - 1] + 3) % 32
    made = batch(tokens(seed=9), 2)
    assert np.array_equal(made["tokens"], drawn[:, :-1])
    assert np.array_equal(made["targets"], drawn[:, 1:])


@pytest.mark.parametrize("loss", ["cross-entropy", "mean-squared-error"])
def test_vectors_are_the_documented_draws(loss: str) -> None:
    # Worked out from the streams of the seed, one sample at a time.
    def key(purpose: str) -> int:
        return int.from_bytes(hashlib.sha256(f"9/data/{purpose}".encode()).digest()[:8], "little")

    prototypes, goals = (
        2.0 * uniform(key(name), (4, width)) - 1.0 for name, width in (("prototypes", 6), ("goals", 4))
    )
    labels = integers(key("labels/2"), 4, (3,))
    shakes = 2.0 * uniform(key("shake/2"), (3, 6)) - 1.0
    made = batch(vectors(noise=0.25, batch_size=3, seed=9, loss=loss), 2)
    for place, label in enumerate(labels):
        assert made["features"][place] == pytest.approx(prototypes[label] + 0.25 * shakes[place], abs=1e-7)
        if loss == "cross-entropy":
            assert made["labels"][place] == label
        else:
            assert made["targets"][place] == pytest.approx(goals[label], abs=1e-7)

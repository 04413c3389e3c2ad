"""Data for any inputs: what it is a function of, and that there is something to learn in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stackproof.backends.data import batch, batches
from stackproof.backends.graph import Input
from stackproof.backends.spec import Data, Onnx, Optimizer, Schedule, Spec, Train

IMAGE = Input("x", "float32", (8, 2, 3))
LABELS = Input("labels", "int64", (8,), 5)


def own(noise: float = 0.1, **train: Any) -> Spec:
    return Spec("own", Onnx(onnx="m.onnx"), Data("prototypes", 8, noise), Optimizer(), Schedule(), Train(**train))


def gathered(spec: Spec, inputs: tuple[Input, ...], steps: int = 20) -> dict[str, np.ndarray]:
    made = [batch(spec, step, inputs) for step in range(steps)]
    return {entry.name: np.concatenate([entries[entry.name] for entries in made]) for entry in inputs}


def test_every_input_is_filled_as_it_asks() -> None:
    inputs = (
        IMAGE,
        Input("ids", "int32", (8, 4), 7),
        Input("mask", "bool", (8, 4)),
        Input("scale", "float32", ()),
        LABELS,
    )
    made = batch(own(), 0, inputs)
    assert {name: (value.dtype.name, value.shape) for name, value in made.items()} == {
        entry.name: (entry.dtype, entry.shape) for entry in inputs
    }
    assert list(made) == [entry.name for entry in inputs]
    assert (made["ids"].min() >= 0, made["ids"].max() < 7) == (True, True)


def test_samples_of_one_label_lie_around_one_prototype() -> None:
    made = gathered(own(noise=0.25), (IMAGE, LABELS))
    for label in range(5):
        members = made["x"][made["labels"] == label]
        assert len(members) > 1
        middle = (members.max(0) + members.min(0)) / 2
        assert np.abs(members - middle).max() <= 0.25 + 1e-6
    first, second = (made["x"][made["labels"] == label].mean(0) for label in (0, 1))
    assert np.abs(first - second).max() > 0.5


def test_labels_in_the_shape_of_tokens_are_the_next_tokens() -> None:
    tokens, labels = Input("ids", "int64", (8, 12), 32), Input("labels", "int64", (8, 12), 32)
    made = gathered(own(noise=0.0), (tokens, labels), 3)
    assert np.array_equal(made["ids"][:, 1:], made["labels"][:, :-1])
    assert np.array_equal((5 * made["ids"] + 3) % 32, made["labels"])
    stray = gathered(own(noise=0.5), (tokens, labels))
    assert 0.3 < np.mean(stray["labels"] != (5 * stray["ids"] + 3) % 32) < 0.6


def test_a_map_of_labels_belongs_to_the_kind_of_sample() -> None:
    inputs = (IMAGE, Input("labels", "int64", (8, 4, 4), 3))
    made = gathered(own(noise=0.0), inputs)
    maps = {sample.tobytes(): {label.tobytes()} for sample, label in zip(made["x"], made["labels"], strict=True)}
    for sample, label in zip(made["x"], made["labels"], strict=True):
        maps[sample.tobytes()].add(label.tobytes())
    assert 1 < len(maps) <= 3
    assert all(len(labels) == 1 for labels in maps.values())


def test_targets_have_no_noise() -> None:
    made = gathered(own(noise=0.3, loss="mean-squared-error"), (IMAGE, Input("targets", "float32", (8, 2))))
    assert len(np.unique(made["targets"], axis=0)) <= 16
    assert len(np.unique(made["x"].reshape(-1, 6), axis=0)) == 160


def test_what_is_no_batch_is_the_same_at_every_step() -> None:
    inputs = (IMAGE, Input("places", "int64", (1, 4), 9))
    assert np.array_equal(batch(own(), 0, inputs)["places"], batch(own(), 5, inputs)["places"])


@pytest.mark.parametrize("change", [{"seed": 1}, {}])
def test_the_bits_follow_from_the_seed_alone(change: dict[str, int]) -> None:
    inputs = (IMAGE, Input("ids", "int64", (8, 4), 7), LABELS)
    first, second = batches(own(steps=3), inputs), batches(own(steps=3, **change), inputs)
    same = [np.array_equal(a[name], b[name]) for a, b in zip(first, second, strict=True) for name in a]
    assert all(same) is not bool(change)


def test_the_labels_of_a_loss_of_its_own_are_inputs_like_others() -> None:
    made = gathered(own(noise=0.0, loss="own"), (IMAGE, LABELS))
    kinds = {sample.tobytes(): label for sample, label in zip(made["x"], made["labels"], strict=True)}
    assert len(kinds) > 5
    assert all(kinds[s.tobytes()] == label for s, label in zip(made["x"], made["labels"], strict=True))

"""Batches of several micro-batches, outside of any framework."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stackproof.backends.accumulating import SHARE, parts, stacked_layout, with_shares, with_stacked_inputs
from stackproof.backends.errors import InputError
from stackproof.backends.layout import channels_last
from stackproof.backends.models.build import build_program
from stackproof.backends.reading import read_spec
from stackproof.backends.spec import Cnn, Data, Optimizer, Schedule, Spec, Train

SPEC = Spec("c", Cnn(image=(2, 4, 8)), Data("images", 3), Optimizer(), Schedule(), Train(accumulate=5))
PROGRAM = build_program(SPEC)


def test_shares_are_equal_unless_they_are_said() -> None:
    batch = {"x": np.zeros((4, 2))}
    assert with_shares(batch, 1) is batch
    assert with_shares(batch, 4)[SHARE].tolist() == [0.25] * 4
    said = {**batch, SHARE: np.array([0.5, 0.5, 0.0, 0.0])}
    assert with_shares(said, 4)[SHARE] is said[SHARE]


def test_parts_are_the_micro_batches_in_order() -> None:
    made = parts({"x": np.arange(6).reshape(3, 2)}, 3)
    assert [part["x"].tolist() for part in made] == [[0, 1], [2, 3], [4, 5]]
    assert [(part[SHARE].shape, float(part[SHARE])) for part in made] == [((), 1 / 3)] * 3


def test_inputs_have_a_leading_axis() -> None:
    shapes = {entry.name: entry.shape for entry in with_stacked_inputs(PROGRAM, 5).inputs}
    assert shapes == {"features": (5, 3, 2, 4, 8), "labels": (5, 3)}
    assert with_stacked_inputs(PROGRAM, 1) is PROGRAM


def test_images_are_turned_micro_batch_by_micro_batch() -> None:
    turned = channels_last(PROGRAM)
    images = np.random.default_rng(0).normal(size=(5, 3, 2, 4, 8))
    whole = stacked_layout(turned, 5).into({"features": images})["features"]
    assert whole.shape == (5, 3, 4, 8, 2)
    for place, part in enumerate(images):
        assert np.array_equal(whole[place], turned.into({"features": part})["features"])


def test_a_step_of_too_many_elements_is_refused() -> None:
    tables: dict[str, Any] = {"model": {"kind": "mlp"}, "data": {"batch": 100_000}, "train": {"accumulate": 60_000}}
    with pytest.raises(InputError, match=r"data\.batch: makes a batch of"):
        read_spec(tables, "s.toml", "s")

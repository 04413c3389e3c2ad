"""Targets: of the kind that each loss takes, told apart by class, and weighed as the mean does."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from stackproof.backends.data import batch
from stackproof.backends.errors import InputError
from stackproof.backends.program import Input
from stackproof.backends.spec import Data, Gpt, Mlp, Model, Onnx, Optimizer, Schedule, Spec, Train
from stackproof.backends.targets import goals, left_out, share_of, weights

MLP = Mlp(inputs=3, outputs=4)
GPT = Gpt(context=12, vocabulary=32)


def spec(model: Model = MLP, samples: int = 400, **train: Any) -> Spec:
    kind = {"gpt": "tokens", "mlp": "vectors", "onnx": "prototypes"}[model.kind]
    return Spec("s", model, Data(kind, samples), Optimizer(), Schedule(), Train(**train))


@pytest.mark.parametrize("shape", [(2, 1), (4, 4), (16, 1), (16, 2, 3)])
def test_binary_goals_are_bits_that_tell_neighbours_apart(shape: tuple[int, ...]) -> None:
    made = goals("binary-cross-entropy", 5, shape)
    assert set(np.unique(made)) == {0.0, 1.0}
    assert all(not np.array_equal(one, other) for one, other in itertools.pairwise(made))
    assert 0.2 <= made.mean() <= 0.8


def test_every_class_has_bits_of_its_own() -> None:
    made = goals("binary-cross-entropy", 5, (12, 12))
    assert len({row.tobytes() for row in made}) == 12
    assert (np.argmax(made, axis=1) == np.arange(12)).all()
    after = made[np.triu_indices(12, 1)]
    assert 0.3 < after.mean() < 0.7


@pytest.mark.parametrize(("shape", "axis"), [((5, 5), 1), ((16, 3), 1), ((6, 2, 4), 2), ((6, 4, 3, 2), 1)])
def test_probabilities_sum_to_one_over_the_classes(shape: tuple[int, ...], axis: int) -> None:
    made = goals("kl-divergence", 5, shape)
    np.testing.assert_allclose(made.sum(axis=axis), 1.0, rtol=1e-14)
    assert made.min() > 0
    own = np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 2)) % shape[axis]
    assert (np.argmax(made, axis=axis) == own).all()
    assert made.max(axis=axis).min() > 0.5


@pytest.mark.parametrize("loss", ["mean-squared-error", "huber", "binary-cross-entropy", "kl-divergence"])
def test_targets_depend_on_the_class_only(loss: str) -> None:
    made = batch(spec(loss=loss), 0)
    assert (made["targets"].dtype.name, made["targets"].shape) == ("float32", (400, 4))
    pairs = set()
    for step in range(2):
        labels, targets = batch(spec(), step)["labels"], batch(spec(loss=loss), step)["targets"]
        pairs |= {(int(label), row.tobytes()) for label, row in zip(labels, targets, strict=True)}
    assert len(pairs) == len({row for _, row in pairs}) == 4


@pytest.mark.parametrize(("model", "name"), [(MLP, "labels"), (GPT, "targets")])
def test_a_share_of_labels_is_left_out(model: Model, name: str) -> None:
    whole, some = batch(spec(model), 3), batch(spec(model, ignore_label=-1), 3)
    gone = some[name] == -1
    assert np.array_equal(some[name][~gone], whole[name][~gone])
    count = gone.size
    assert abs(gone.mean() - 1 / 8) < 4 * np.sqrt(1 / 8 * 7 / 8 / count)
    others = set(whole) - {name}
    assert all(np.array_equal(some[other], whole[other]) for other in others)
    assert not np.array_equal(gone, batch(spec(model, ignore_label=-1), 4)[name] == -1)


def test_a_batch_never_loses_all_of_its_labels() -> None:
    for number in range(200):
        made = batch(spec(samples=2, ignore_label=-1), number)["labels"]
        assert (made >= 0).any()
    assert not left_out(Train(ignore_label=-1), 5, np.array([3]))[0] < 0


@pytest.mark.parametrize("shape", [(4, 12), (4,), (4, 5, 6)])
def test_labels_of_a_model_from_a_file_are_left_out_as_well(shape: tuple[int, ...]) -> None:
    inputs = [Input("x", "float32", (4, 3)), Input("labels", "int64", shape, bound=6)]
    gone = [batch(spec(Onnx(), 4, ignore_label=-9), number, inputs)["labels"] == -9 for number in range(20)]
    assert 0.03 < np.mean(gone) < 0.25


def test_targets_of_a_model_from_a_file_fit_the_loss() -> None:
    inputs = [Input("x", "float32", (4, 3)), Input("targets", "float32", (4, 3, 5))]
    shares = batch(spec(Onnx(), 4, loss="kl-divergence"), 0, inputs)["targets"]
    np.testing.assert_allclose(shares.sum(axis=2), 1.0, rtol=1e-6)
    bits = batch(spec(Onnx(), 4, loss="binary-cross-entropy"), 0, inputs)["targets"]
    assert set(np.unique(bits)) == {0.0, 1.0}


def test_a_batch_without_a_mean_is_refused() -> None:
    # Samples of the first class are the only ones that count.
    given = spec(samples=1, class_weights=(1.0, 0.0, 0.0, 0.0))
    labels = [int(batch(spec(samples=1), number)["labels"][0]) for number in range(20)]
    assert batch(given, labels.index(0))["labels"].tolist() == [0]
    number = next(place for place, label in enumerate(labels) if label)
    with pytest.raises(InputError) as caught:
        batch(given, number)
    assert f"each label of batch {number} is ignored or has a class weight of 0" in str(caught.value)
    assert "raise it, or change ignore_label or class_weights" in str(caught.value)


def test_weights_are_those_of_classes_and_none_where_ignored() -> None:
    train = Train(class_weights=(0.5, 2.0, 0.25), ignore_label=1)
    assert weights(train, np.array([[0, 1], [2, 0]])).tolist() == [[0.5, 0.0], [0.25, 0.5]]
    assert weights(Train(ignore_label=-100), np.array([0, -100, 2])).tolist() == [1.0, 0.0, 1.0]
    assert weights(Train(class_weights=(0.1, 1.0)), np.array([0])).tolist() == [float(np.float32(0.1))]


def test_shares_make_the_mean_over_micro_batches_the_mean_over_all() -> None:
    draw = np.random.default_rng(2)
    labels, losses = draw.integers(0, 3, (5, 8, 4)), draw.standard_normal((5, 8, 4))
    labels[0, :7] = -1
    given = spec(ignore_label=-1, class_weights=(0.5, 2.0, 0.25))
    each = weights(given.train, labels)
    means = (losses * each).sum(axis=(1, 2)) / each.sum(axis=(1, 2))
    shares = share_of(given, labels)
    assert shares is not None
    assert shares.shape == (5,)
    assert shares.sum() == pytest.approx(1.0, rel=1e-15)
    assert (shares * means).sum() == pytest.approx((losses * each).sum() / each.sum(), rel=1e-12)
    assert share_of(spec(), labels) is None

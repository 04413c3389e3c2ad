"""Losses with outputs and targets, and what they and their gradients are by the papers' formulas, in numpy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stackproof.backends.lower import widened
from stackproof.backends.models.graph import Graph
from stackproof.backends.models.losses import add_loss, add_token_loss
from stackproof.backends.program import Input, Program
from stackproof.backends.recipe import Train


@dataclass(frozen=True)
class Case:
    """A loss, the model's output, and what it is compared with: labels or targets."""

    name: str
    train: Train
    output: np.ndarray
    target: np.ndarray

    def __str__(self) -> str:
        return self.name

    @property
    def smoothing(self) -> float:
        return float(np.float32(self.train.label_smoothing))

    @property
    def weights(self) -> np.ndarray | None:
        return np.array(self.train.class_weights, np.float32).astype(np.float64) if self.train.class_weights else None

    @property
    def delta(self) -> float:
        return float(np.float32(self.train.huber_delta))

    def scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and labels of cross-entropy with classes on axis 1, as other libraries take them."""
        if self.output.ndim == 3:
            return self.output.reshape(-1, self.output.shape[2]), self.target.reshape(-1)
        return self.output, self.target


def program_of(case: Case) -> Program:
    """Return the loss as a program whose only parameter is the output, in float64."""
    graph = Graph(seed=0)
    tokens = case.train.loss == "cross-entropy" and case.output.ndim == 3
    name = (add_token_loss if tokens else add_loss)(graph, case.train, "output", case.output.shape)
    made = graph.finish("loss", name, ())
    inputs = tuple(Input(entry.name, case.target.dtype.name, entry.shape) for entry in made.inputs)
    constants = widened(made.constants, "float64")
    return replace(made, inputs=inputs, outputs=(name,), parameters={"output": case.output}, constants=constants)


def wanted(case: Case) -> tuple[float, np.ndarray]:
    """Return the loss and its gradient with respect to the output."""
    if case.train.loss == "cross-entropy":
        return _cross_entropy(case)
    output, target = case.output, case.target
    if case.train.loss == "kl-divergence":
        return _divergence(output, target)
    if case.train.loss == "binary-cross-entropy":
        ones, zeros = np.logaddexp(0.0, -output), np.logaddexp(0.0, output)
        each = target * ones + (1.0 - target) * zeros
        slope = (1.0 - target) * np.exp(-ones) - target * np.exp(-zeros)
    elif case.train.loss == "huber":
        size = np.abs(output - target)
        each = np.where(size <= case.delta, 0.5 * size**2, case.delta * (size - 0.5 * case.delta))
        slope = np.clip(output - target, -case.delta, case.delta)
    else:
        each, slope = (output - target) ** 2, 2.0 * (output - target)
    return float(each.mean()), slope / output.size


def _cross_entropy(case: Case) -> tuple[float, np.ndarray]:
    """Compare with a distribution per sample that is no longer of sum 1: labels, smoothed, weighed and shared out."""
    scores, labels = case.scores()
    scores = np.moveaxis(scores, 1, -1)
    classes = scores.shape[-1]
    weights = np.ones(classes) if case.weights is None else case.weights
    kept = np.ones(labels.shape) if case.train.ignore_label is None else 1.0 * (labels != case.train.ignore_label)
    hard = np.eye(classes)[np.where(kept > 0, labels, 0)]
    share = ((1 - case.smoothing) * hard + case.smoothing / classes) * weights * kept[..., None]
    share = share / np.sum(hard * weights * kept[..., None])
    logs = _log_softmax(scores, -1)
    slope = np.exp(logs) * share.sum(axis=-1, keepdims=True) - share
    return float(-np.sum(share * logs)), np.moveaxis(slope, -1, 1).reshape(case.output.shape)


def _divergence(output: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
    axis = 2 if output.ndim == 3 else 1
    logs = _log_softmax(output, axis)
    own = np.where(target > 0, target * np.log(np.where(target > 0, target, 1.0)), 0.0)
    slope = np.exp(logs) * target.sum(axis=axis, keepdims=True) - target
    return float(np.sum(own - target * logs) / len(output)), slope / len(output)


def _log_softmax(scores: np.ndarray, axis: int) -> np.ndarray:
    moved = scores - scores.max(axis=axis, keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis=axis, keepdims=True))


def _cross_entropies() -> list[Case]:
    draw = np.random.default_rng(3)
    shapes = {"vectors": (9, 5), "tokens": (4, 3, 5), "images": (3, 5, 4, 2)}
    keys: dict[str, dict[str, Any]] = {
        "plain": {},
        "smoothed": {"label_smoothing": 0.1},
        "weighted": {"class_weights": (0.3, 1.0, 0.0, 2.5, 0.7)},
        "ignored": {"ignore_label": -100},
        "ignored_class": {"ignore_label": 2},
    }
    keys["smoothed_weighted"] = {**keys["smoothed"], **keys["weighted"]}
    keys["smoothed_ignored"] = {**keys["smoothed"], **keys["ignored"]}
    keys["weighted_ignored"] = {**keys["weighted"], "ignore_label": 7}
    keys["all"] = {**keys["smoothed"], **keys["weighted"], "ignore_label": -1}
    keys["all_of_a_class"] = {**keys["smoothed"], **keys["weighted"], "ignore_label": 1}
    made = []
    for kind, shape in shapes.items():
        for name, given in keys.items():
            labels = draw.integers(0, 5, shape[:2] if kind == "tokens" else (shape[0], *shape[2:]))
            if "ignore_label" in given:
                labels.flat[[1, 4, 5]] = given["ignore_label"]
            # The first label is never left out, so that there is a mean.
            labels.flat[0] = 3
            made.append(Case(f"{kind}-{name}", Train(**given), 3.0 * draw.standard_normal(shape), labels))
    return made


def _others() -> list[Case]:
    draw = np.random.default_rng(4)
    far = draw.standard_normal((6, 7)) * 2.0
    # On the corners of huber with delta 0.5, at zero, and so far out that an exponential would overflow.
    far.flat[:6] = (0.5, -0.5, 0.0, 800.0, -800.0, 1e-9)
    goals = draw.standard_normal((6, 7))
    goals.flat[:6] = 0.0
    bits = draw.integers(0, 2, (6, 7)).astype(np.float64)
    made = [
        Case("squared", Train(loss="mean-squared-error"), far, goals),
        Case("huber", Train(loss="huber"), far, goals),
        Case("huber_delta", Train(loss="huber", huber_delta=0.5), far, goals),
        Case("huber_rounded", Train(loss="huber", huber_delta=0.3), far, goals),
        Case("binary", Train(loss="binary-cross-entropy"), far, bits),
        Case(
            "binary_sure", Train(loss="binary-cross-entropy"), (2.0 * bits - 1.0) * draw.uniform(20, 30, (6, 7)), bits
        ),
        Case("binary_shares", Train(loss="binary-cross-entropy"), far, draw.uniform(size=(6, 7))),
    ]
    for name, shape, axis in (("vectors", (6, 5), 1), ("tokens", (4, 3, 5), 2), ("images", (3, 5, 4, 2), 1)):
        drawn = draw.uniform(size=shape) * (draw.uniform(size=shape) > 0.3) + 1e-3 * (draw.uniform(size=shape) > 0.9)
        drawn = np.where(drawn.sum(axis=axis, keepdims=True) > 0, drawn, 1.0)
        target = drawn / drawn.sum(axis=axis, keepdims=True)
        assert (target == 0).any()
        made.append(Case(f"kl_{name}", Train(loss="kl-divergence"), 3.0 * draw.standard_normal(shape), target))
    return made


CASES = [*_cross_entropies(), *_others()]

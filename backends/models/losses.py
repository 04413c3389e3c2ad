"""Losses, as nodes behind a model's output. Formulas and sources: `docs/training.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..targets import class_axis

if TYPE_CHECKING:
    from ..recipe import Train
    from .graph import Graph

LABELS = "labels"
TARGETS = "targets"


def add_loss(graph: Graph, train: Train, output: str, shape: tuple[int, ...]) -> str:
    """Append the loss of a batch, with the input that the output is compared with.

    Args:
        graph: The program that is being written.
        train: Which loss, and its numbers; any but `own`.
        output: The output's name.
        shape: The output's shape: (batch, classes) or (batch, classes, ...) for cross-entropy, whose input is `labels`,
            int64 of that shape without the classes. The others have an input `targets` of the output's shape;
            kl-divergence takes (batch, positions, classes) as well.

    Returns:
        The name of the loss, a scalar.
    """
    if train.loss == "cross-entropy":
        labels = graph.input(LABELS, "int64", (shape[0], *shape[2:]))
        return add_cross_entropy(graph, train, (output, labels), shape)
    targets = graph.input(TARGETS, "float32", shape)
    if train.loss != "mean-squared-error":
        return from_targets(graph, train, (output, targets), len(shape))
    error = graph.add("Sub", (output, targets), "error")
    return graph.add("ReduceMean", (graph.add("Mul", (error, error), "squared_error"),), "loss", keepdims=0)


def from_targets(graph: Graph, train: Train, pair: tuple[str, str], rank: int) -> str:
    """Append huber, binary-cross-entropy or kl-divergence.

    Args:
        graph: The program that is being written.
        train: Which of them, and its numbers.
        pair: Names of output and targets, of one shape.
        rank: The number of its axes.

    Returns:
        The name of the loss, a scalar.
    """
    if train.loss == "huber":
        return _huber(graph, train.huber_delta, *pair)
    if train.loss == "binary-cross-entropy":
        return _binary_cross_entropy(graph, *pair)
    return _divergence(graph, *pair, rank)


def add_token_loss(graph: Graph, train: Train, logits: str, shape: tuple[int, ...]) -> str:
    """Append the cross-entropy of tokens, with the input `targets`, int64 of shape (batch, positions).

    Args:
        graph: The program that is being written.
        train: The numbers of the loss.
        logits: The scores' name.
        shape: Their shape, (batch, positions, vocabulary).

    Returns:
        The name of the loss, a scalar.
    """
    targets = graph.input(TARGETS, "int64", shape[:2])
    flat = graph.integers("per_token", -1, shape[2])
    scores = graph.add("Reshape", (logits, flat), "token_logits")
    labels = graph.add("Reshape", (targets, graph.integers("flat", -1)), "token_targets")
    return add_cross_entropy(graph, train, (scores, labels), (-1, shape[2]))


def add_cross_entropy(graph: Graph, train: Train, pair: tuple[str, str], shape: tuple[int, ...]) -> str:
    """Append the mean cross-entropy of scores and labels.

    Args:
        graph: The program that is being written.
        train: Label smoothing, ignored label and class weights.
        pair: Names of scores and labels.
        shape: The scores' shape, (batch, classes, ...).

    Returns:
        The name of the loss, a scalar.
    """
    ignored = {} if train.ignore_label is None else {"ignore_index": train.ignore_label}
    held = np.array(train.class_weights, np.float32)
    inputs = (*pair, graph.constant("loss.class_weights", held)) if train.class_weights else pair
    if not train.label_smoothing:
        return graph.add("SoftmaxCrossEntropyLoss", inputs, "loss", reduction="mean", **ignored)
    hard = ("loss.hard", "loss.log_probabilities")
    graph.add_all("SoftmaxCrossEntropyLoss", inputs, hard, reduction="mean", **ignored)
    even = _even(graph, train, pair[1], len(shape))
    # The share is rounded once, and counts on both sides: hard + share * (even - hard).
    more = graph.add("Mul", (graph.add("Sub", (even, "loss.hard"), "loss.gap"), _share(graph, train)), "loss.more")
    return graph.add("Add", ("loss.hard", more), "loss")


def _share(graph: Graph, train: Train) -> str:
    return graph.constant("loss.smoothing", np.array(train.label_smoothing, np.float32))


def _even(graph: Graph, train: Train, labels: str, rank: int) -> str:
    """Append the loss against labels that are spread evenly over all classes."""
    terms = "loss.log_probabilities"
    if train.class_weights:
        column = np.array(train.class_weights, np.float32).reshape(-1, *[1] * (rank - 2))
        terms = graph.add("Mul", (terms, graph.constant("loss.weight_column", column)), "loss.weighted")
    each = graph.add("ReduceMean", (terms, graph.integers("loss.classes", 1)), "loss.each", keepdims=0)
    if train.ignore_label is None and not train.class_weights:
        return graph.add("Neg", (graph.add("ReduceMean", (each,), "loss.mean", keepdims=0),), "loss.even")
    each, weights = _weighed(graph, train, labels, each)
    sums = [graph.add("ReduceSum", (name,), f"{name}.sum", keepdims=0) for name in (each, weights)]
    return graph.add("Neg", (graph.add("Div", (sums[0], sums[1]), "loss.mean"),), "loss.even")


def _weighed(graph: Graph, train: Train, labels: str, each: str) -> tuple[str, str]:
    """Return each sample's term, and what it weighs; both are 0 where the label is ignored."""
    if train.ignore_label is None:
        return each, graph.add("Gather", ("loss.class_weights", labels), "loss.weights")
    ignored = graph.constant("loss.ignored", np.array(train.ignore_label, np.int64))
    away = graph.add("Equal", (labels, ignored), "loss.away")
    zero = graph.constant("loss.zero", np.array(0, np.float32))
    each = graph.add("Where", (away, zero, each), "loss.kept")
    if train.class_weights:
        first = graph.constant("loss.first", np.array(0, np.int64))
        safe = graph.add("Where", (away, first, labels), "loss.safe_labels")
        weights = graph.add("Gather", ("loss.class_weights", safe), "loss.weights")
    else:
        weights = graph.constant("loss.one", np.array(1, np.float32))
    return each, graph.add("Where", (away, zero, weights), "loss.kept_weights")


def _huber(graph: Graph, delta: float, output: str, targets: str) -> str:
    error = graph.add("Sub", (output, targets), "loss.error")
    bounds = [
        graph.constant(f"loss.{side}", np.array(bound, np.float32))
        for side, bound in (("least", -delta), ("most", delta))
    ]
    # With the error kept within the bounds as c, c * (error - c / 2) is the square inside and the line outside.
    near = graph.add("Clip", (error, *bounds), "loss.near")
    half = graph.add("Mul", (near, graph.constant("loss.half", np.array(0.5, np.float32))), "loss.half_near")
    each = graph.add("Mul", (near, graph.add("Sub", (error, half), "loss.rest")), "loss.each")
    return graph.add("ReduceMean", (each,), "loss", keepdims=0)


def _binary_cross_entropy(graph: Graph, output: str, targets: str) -> str:
    # Two terms of one sign: nothing cancels, however sure an output is.
    away = graph.add("Softplus", (graph.add("Neg", (output,), "loss.turned"),), "loss.when_one")
    near = graph.add("Softplus", (output,), "loss.when_zero")
    rest = graph.add("Sub", (graph.constant("loss.one", np.array(1, np.float32)), targets), "loss.zeros")
    parts = [graph.add("Mul", pair, f"{pair[1]}.part") for pair in ((targets, away), (rest, near))]
    return graph.add("ReduceMean", (graph.add("Add", (parts[0], parts[1]), "loss.each"),), "loss", keepdims=0)


def _divergence(graph: Graph, output: str, targets: str, rank: int) -> str:
    found = graph.add("LogSoftmax", (output,), "loss.log_found", axis=class_axis(rank))
    zero, one = (
        graph.constant(f"loss.{name}", np.array(value, np.float32)) for name, value in (("zero", 0), ("one", 1))
    )
    # The limit of t log t at 0 is 0.
    some = graph.add("Greater", (targets, zero), "loss.some")
    wanted = graph.add("Log", (graph.add("Where", (some, targets, one), "loss.positive"),), "loss.log_wanted")
    each = graph.add("Mul", (targets, graph.add("Sub", (wanted, found), "loss.gap")), "loss.each")
    axes = graph.integers("loss.axes", *range(1, rank))
    return graph.add(
        "ReduceMean", (graph.add("ReduceSum", (each, axes), "loss.sample", keepdims=0),), "loss", keepdims=0
    )

"""TensorFlow rules: losses of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_MATRIX = 2


@rule("SoftmaxCrossEntropyLoss", "tensorflow")
def _cross_entropy(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, ...]:
    labels, kept = _labels(inputs[1], attributes)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, _classes_last(inputs[0]))
    loss = _loss(losses, labels, kept, optional(inputs, 2), attributes)
    if len(attributes.get("outputs", (True, True))) == 1:
        return (loss,)
    return loss, tf.nn.log_softmax(inputs[0], axis=1)


@rule("NegativeLogLikelihoodLoss", "tensorflow")
def _negative_log_likelihood(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    labels, kept = _labels(inputs[1], attributes)
    losses = -tf.gather(_classes_last(inputs[0]), labels, batch_dims=labels.shape.rank)
    return _loss(losses, labels, kept, optional(inputs, 2), attributes)


def _labels(given: Any, attributes: Attributes) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Return labels with 0 in place of ignored ones, and which are kept; None where all are."""
    labels = tf.convert_to_tensor(given)
    if "ignore_index" not in attributes:
        return labels, None
    kept = labels != attributes["ignore_index"]
    return tf.where(kept, labels, tf.zeros_like(labels)), kept


def _classes_last(scores: tf.Tensor) -> tf.Tensor:
    rank = scores.shape.rank
    return tf.transpose(scores, (0, *range(2, rank), 1)) if rank > _MATRIX else scores


def _loss(
    losses: tf.Tensor, labels: tf.Tensor, kept: tf.Tensor | None, weights: tf.Tensor | None, attributes: Attributes
) -> tf.Tensor:
    shares = None if weights is None else tf.gather(weights, labels)
    if kept is not None:
        chosen = tf.cast(kept, losses.dtype)
        losses = tf.where(kept, losses, tf.zeros_like(losses))
        shares = chosen if shares is None else shares * chosen
    return _reduced(losses, shares, attributes.get("reduction", "mean"))


def _reduced(losses: tf.Tensor, shares: tf.Tensor | None, reduction: str) -> tf.Tensor:
    weighted = losses if shares is None else losses * shares
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return tf.reduce_sum(weighted)
    return tf.reduce_mean(weighted) if shares is None else tf.reduce_sum(weighted) / tf.reduce_sum(shares)

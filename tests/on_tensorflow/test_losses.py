from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf
from loss_contract import LossContract

from stackproof.backends.on_tensorflow import evaluate, session

if TYPE_CHECKING:
    import numpy as np
    from loss_cases import Case


class TestLosses(LossContract):
    module = evaluate
    sessions = session

    def theirs(self, case: Case) -> tuple[float, np.ndarray]:
        output = tf.constant(case.output)
        with tf.GradientTape() as tape:
            tape.watch(output)
            loss = _loss(case, output)
        return float(loss), tape.gradient(loss, output).numpy()


def _loss(case: Case, output: tf.Tensor) -> tf.Tensor:
    if case.train.loss == "cross-entropy":
        return _cross_entropy(case, output)
    target = tf.constant(case.target)
    if case.train.loss == "kl-divergence":
        axis = 2 if output.shape.rank == 3 else 1
        gaps = tf.math.xlogy(target, target) - target * tf.nn.log_softmax(output, axis)
        return tf.reduce_sum(gaps) / output.shape[0]
    if case.train.loss == "binary-cross-entropy":
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(target, output))
    if case.train.loss == "huber":
        size = tf.abs(output - target)
        return tf.reduce_mean(tf.where(size <= case.delta, size**2 / 2, case.delta * (size - case.delta / 2)))
    return tf.reduce_mean(tf.math.squared_difference(output, target))


def _cross_entropy(case: Case, output: tf.Tensor) -> tf.Tensor:
    """Return the cross-entropy against dense labels, by the framework's own operator for those."""
    scores, labels = case.scores()
    rank = scores.ndim
    moved = tf.transpose(tf.reshape(output, scores.shape), (0, *range(2, rank), 1))
    dense = tf.one_hot(labels, scores.shape[1], dtype=output.dtype)
    weights = tf.ones(scores.shape[1], output.dtype) if case.weights is None else tf.constant(case.weights)
    ignored = -1 if case.train.ignore_label is None else case.train.ignore_label
    kept = tf.cast(tf.constant(labels) != ignored, output.dtype)
    spread = ((1 - case.smoothing) * dense + case.smoothing / scores.shape[1]) * weights
    each = -tf.reduce_sum(spread * tf.nn.log_softmax(moved), axis=-1) * kept
    return tf.reduce_sum(each) / tf.reduce_sum(tf.reduce_sum(dense * weights, axis=-1) * kept)

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from loss_cases import wanted
from loss_contract import LossContract

from stackproof.backends.on_jax import evaluate, session
from stackproof.backends.on_jax.gates import wide_numbers

if TYPE_CHECKING:
    from loss_cases import Case


@pytest.mark.usefixtures("quick_compiler")
class TestLosses(LossContract):
    module = evaluate
    sessions = session

    def theirs(self, case: Case) -> tuple[float, np.ndarray]:
        # Optax has no ignored labels and no class weights.
        if case.train.ignore_label is not None or case.train.class_weights:
            return wanted(case)
        with wide_numbers(enabled=True):
            loss, gradient = jax.value_and_grad(lambda output: _loss(case, output))(jnp.asarray(case.output))
            return float(loss), np.asarray(gradient)


def _loss(case: Case, output: jax.Array) -> jax.Array:
    target = jnp.asarray(case.target)
    if case.train.loss == "cross-entropy":
        scores, labels = case.scores()
        moved = jnp.moveaxis(output.reshape(scores.shape), 1, -1)
        spread = optax.smooth_labels(jax.nn.one_hot(labels, moved.shape[-1], dtype=moved.dtype), case.smoothing)
        return optax.softmax_cross_entropy(moved, spread).mean()
    if case.train.loss == "kl-divergence":
        axis = 2 if output.ndim == 3 else 1
        each = optax.kl_divergence(jax.nn.log_softmax(output, axis), target, axis=axis)
        return each.sum() / len(output)
    if case.train.loss == "binary-cross-entropy":
        return optax.sigmoid_binary_cross_entropy(output, target).mean()
    if case.train.loss == "huber":
        return optax.huber_loss(output, target, delta=case.delta).mean()
    return optax.squared_error(output, target).mean()

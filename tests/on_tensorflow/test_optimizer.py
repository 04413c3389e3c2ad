from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tensorflow as tf
from optimizer_contract import (
    KERNEL,
    OPTIMIZERS,
    SHAPES,
    LayoutContract,
    OptimizerContract,
    StillContract,
    initial,
    papers,
    pulls,
    schedule_rates,
)

from stackproof.backends.on_tensorflow import session
from stackproof.backends.on_tensorflow.optimizer import clipped, global_norm, new_state, update

if TYPE_CHECKING:
    from stackproof.backends.spec import Optimizer


def _tensors(arrays: dict[str, np.ndarray]) -> dict[str, tf.Tensor]:
    return {name: tf.constant(value) for name, value in arrays.items()}


def _variables(arrays: dict[str, np.ndarray]) -> dict[str, tf.Variable]:
    return {name: tf.Variable(value) for name, value in arrays.items()}


class TestOptimizer(OptimizerContract):
    def train(self, optimizer: Optimizer, clip_norm: float, rates: np.ndarray) -> dict[str, np.ndarray]:
        parameters = _variables(initial())
        state = new_state(optimizer, parameters)
        for pull, rate in zip(pulls(), rates, strict=True):
            gradients = {name: pull[name] + 0.1 * parameters[name] for name in SHAPES}
            gradients = clipped(gradients, global_norm(gradients), clip_norm)
            update(optimizer, parameters, gradients, state, tf.constant(rate))
        return {name: value.numpy() for name, value in parameters.items()}

    def clip(self, gradients: dict[str, np.ndarray], largest: float) -> tuple[float, dict[str, np.ndarray]]:
        tensors = _tensors(gradients)
        norm = global_norm(tensors)
        return float(norm), {name: g.numpy() for name, g in clipped(tensors, norm, largest).items()}

    def state(self, optimizer: Optimizer) -> dict[str, np.ndarray]:
        return {key: value.numpy() for key, value in new_state(optimizer, _variables(initial())).items()}

    @pytest.mark.parametrize("kind", ["sgd", "momentum", "nesterov"])
    def test_agrees_with_keras_at_a_constant_rate(self, kind: str) -> None:
        """Keras holds rate and momentum in float32, and decays another quantity: values exact in float32, no decay."""
        optimizer = dataclasses.replace(OPTIMIZERS[kind], lr=0.125, weight_decay=0.0)
        optimizer = dataclasses.replace(optimizer, momentum=0.875 if optimizer.momentum else 0.0)
        keras = tf.keras.optimizers.SGD(optimizer.lr, optimizer.momentum, nesterov=optimizer.nesterov)
        variables = {name: tf.Variable(value) for name, value in initial().items()}
        for pull in pulls():
            gradients = [pull[name] + 0.1 * variable for name, variable in variables.items()]
            keras.apply_gradients(zip(gradients, variables.values(), strict=True))
        ours = self.train(optimizer, 0.0, np.array([[0.125, 1.0, 1.0, 1.0]] * len(pulls())))
        for name, variable in variables.items():
            np.testing.assert_allclose(ours[name], variable.numpy(), rtol=0, atol=1e-13)

    @pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
    @pytest.mark.parametrize("kind", ["adafactor_all_numbers", "muon_groups", "lamb", "adam_groups"])
    def test_kernels_in_another_order_train_alike_in_a_graph(self, kind: str, *, compiled: bool) -> None:
        optimizer, orders = OPTIMIZERS[kind], {"kernel": KERNEL}
        parameters = _variables({**initial(), "kernel": initial()["kernel"].transpose(KERNEL)})
        state = new_state(optimizer, parameters, orders)

        @tf.function(jit_compile=compiled, autograph=False)
        def advance(turned: dict[str, tf.Tensor], rate: tf.Tensor) -> None:
            gradients = {name: turned[name] + 0.1 * parameters[name] for name in SHAPES}
            update(optimizer, parameters, gradients, state, rate, orders)

        for pull, rate in zip(pulls(), schedule_rates(optimizer), strict=True):
            advance(_tensors({**pull, "kernel": pull["kernel"].transpose(KERNEL)}), tf.constant(rate))
        wanted = papers(optimizer, 0.0)
        found = {name: value.numpy() for name, value in parameters.items()}
        found["kernel"] = found["kernel"].transpose(np.argsort(KERNEL))
        for name in SHAPES:
            np.testing.assert_allclose(found[name], wanted[name], rtol=0, atol=1e-12)


class TestStill(StillContract):
    def once(self, optimizer: Optimizer, parameter: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        parameters, gradients = _variables({"weight": parameter}), _tensors({"weight": gradient})
        rates = tf.constant([0.5, 0.1, 0.001 if optimizer.kind != "adafactor" else 1.0, 1.0], tf.float32)
        update(optimizer, parameters, gradients, new_state(optimizer, parameters), rates)
        return np.asarray(parameters["weight"].numpy())


class TestLayout(LayoutContract):
    module = session
    executions = ("graph", "graph-last")

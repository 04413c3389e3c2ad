from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
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

from stackproof.backends.on_jax import session
from stackproof.backends.on_jax.gates import wide_numbers
from stackproof.backends.on_jax.optimizer import clipped, global_norm, new_state, update

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackproof.backends.spec import Optimizer


@pytest.fixture(autouse=True)
def _wide() -> Iterator[None]:
    with wide_numbers(enabled=True):
        yield


def _tensors(arrays: dict[str, np.ndarray]) -> dict[str, jax.Array]:
    return {name: jnp.asarray(value) for name, value in arrays.items()}


def _optax(optimizer: Optimizer) -> optax.GradientTransformation:
    steps = jnp.asarray(schedule_rates(optimizer)[:, 0])
    first, second = optimizer.betas
    decay = optimizer.weight_decay
    rules = {
        "adam": optax.chain(
            optax.add_decayed_weights(decay), optax.adam(lambda n: steps[n], first, second, optimizer.eps)
        ),
        "adamw": optax.adamw(lambda n: steps[n], first, second, optimizer.eps, weight_decay=decay),
        "lamb": optax.lamb(lambda n: steps[n], first, second, optimizer.eps, weight_decay=decay),
        "lion": optax.lion(lambda n: steps[n], first, second, weight_decay=decay),
        "rmsprop": optax.rmsprop(lambda n: steps[n], optimizer.alpha, optimizer.eps, eps_in_sqrt=False),
        "sgd": optax.chain(
            optax.add_decayed_weights(decay),
            optax.sgd(lambda n: steps[n], optimizer.momentum or None, nesterov=optimizer.nesterov),
        ),
    }
    return rules[optimizer.kind]


class TestOptimizer(OptimizerContract):
    def train(self, optimizer: Optimizer, clip_norm: float, rates: np.ndarray) -> dict[str, np.ndarray]:
        parameters = _tensors(initial())
        state = new_state(optimizer, parameters)
        advance = jax.jit(lambda *now: update(optimizer, *now))
        for pull, rate in zip(pulls(), rates, strict=True):
            gradients = {name: pull[name] + 0.1 * parameters[name] for name in SHAPES}
            gradients = clipped(gradients, global_norm(gradients), clip_norm)
            parameters, state = advance(parameters, gradients, state, jnp.asarray(rate))
        return {name: np.asarray(value) for name, value in parameters.items()}

    def clip(self, gradients: dict[str, np.ndarray], largest: float) -> tuple[float, dict[str, np.ndarray]]:
        tensors = _tensors(gradients)
        norm = global_norm(tensors)
        return float(norm), {name: np.asarray(g) for name, g in clipped(tensors, norm, largest).items()}

    def state(self, optimizer: Optimizer) -> dict[str, np.ndarray]:
        return {key: np.asarray(value) for key, value in new_state(optimizer, _tensors(initial())).items()}

    @pytest.mark.parametrize("clip_norm", [0.0, 1.5])
    @pytest.mark.parametrize(
        "kind",
        ["adam", "adam_decay", "adamw", "sgd", "sgd_decay", "momentum", "nesterov", "lion", "rmsprop", "lamb"],
    )
    def test_agrees_with_optax(self, kind: str, clip_norm: float) -> None:
        optimizer = OPTIMIZERS[kind]
        clip = optax.clip_by_global_norm(clip_norm) if clip_norm else optax.identity()
        theirs, parameters = optax.chain(clip, _optax(optimizer)), _tensors(initial())
        state, advance = theirs.init(parameters), jax.jit(theirs.update)
        for pull in pulls():
            gradients = {name: pull[name] + 0.1 * parameters[name] for name in SHAPES}
            changes, state = advance(gradients, state, parameters)
            parameters = optax.apply_updates(parameters, changes)
        ours = self.train(optimizer, clip_norm, schedule_rates(optimizer))
        for name in SHAPES:
            np.testing.assert_allclose(ours[name], parameters[name], rtol=0, atol=1e-12)

    @pytest.mark.parametrize("kind", ["adafactor_all_numbers", "lamb", "adamw"])
    def test_kernels_in_another_order_train_alike(self, kind: str) -> None:
        optimizer, orders = OPTIMIZERS[kind], {"kernel": KERNEL}
        parameters = _tensors({**initial(), "kernel": initial()["kernel"].transpose(KERNEL)})
        state = new_state(optimizer, parameters, orders)
        for pull, rate in zip(pulls(), schedule_rates(optimizer), strict=True):
            turned = {**pull, "kernel": pull["kernel"].transpose(KERNEL)}
            gradients = {name: turned[name] + 0.1 * parameters[name] for name in SHAPES}
            shapes = {key: value.shape for key, value in state.items()}
            parameters, state = update(optimizer, parameters, gradients, state, jnp.asarray(rate), orders)
            assert {key: value.shape for key, value in state.items()} == shapes
        found = np.asarray(parameters["kernel"]).transpose(np.argsort(KERNEL))
        np.testing.assert_allclose(found, papers(optimizer, 0.0)["kernel"], rtol=0, atol=1e-12)


class TestStill(StillContract):
    def once(self, optimizer: Optimizer, parameter: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        parameters, gradients = _tensors({"weight": parameter}), _tensors({"weight": gradient})
        rates = jnp.asarray([0.5, 0.1, 0.001 if optimizer.kind != "adafactor" else 1.0, 1.0], jnp.float32)
        made, _ = update(optimizer, parameters, gradients, new_state(optimizer, parameters), rates)
        return np.asarray(made["weight"])


class TestLayout(LayoutContract):
    module = session
    executions = ("compiled", "compiled-last")

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from optimizer_contract import OPTIMIZERS, SHAPES, OptimizerContract, initial, pulls, schedule_rates

from stackproof.backends.on_jax.gates import wide_numbers
from stackproof.backends.on_jax.optimizer import clipped, global_norm, state_names, update

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
    if optimizer.kind == "adamw":
        first, second = optimizer.betas
        return optax.adamw(lambda n: steps[n], first, second, optimizer.eps, weight_decay=optimizer.weight_decay)
    momentum = optimizer.momentum or None
    return optax.chain(
        optax.add_decayed_weights(optimizer.weight_decay),
        optax.sgd(lambda n: steps[n], momentum, nesterov=optimizer.nesterov),
    )


class TestOptimizer(OptimizerContract):
    def train(self, optimizer: Optimizer, clip_norm: float, rates: np.ndarray) -> dict[str, np.ndarray]:
        parameters = _tensors(initial())
        state = {name: _tensors({n: np.zeros(s) for n, s in SHAPES.items()}) for name in state_names(optimizer)}
        for pull, rate in zip(pulls(), rates, strict=True):
            gradients = {name: pull[name] + 0.1 * parameters[name] for name in SHAPES}
            gradients = clipped(gradients, global_norm(gradients), clip_norm)
            parameters, state = update(optimizer, parameters, gradients, state, jnp.asarray(rate))
        return {name: np.asarray(value) for name, value in parameters.items()}

    def clip(self, gradients: dict[str, np.ndarray], largest: float) -> tuple[float, dict[str, np.ndarray]]:
        tensors = _tensors(gradients)
        norm = global_norm(tensors)
        return float(norm), {name: np.asarray(g) for name, g in clipped(tensors, norm, largest).items()}

    @pytest.mark.parametrize("clip_norm", [0.0, 1.5])
    @pytest.mark.parametrize("kind", list(OPTIMIZERS))
    def test_agrees_with_optax(self, kind: str, clip_norm: float) -> None:
        optimizer = OPTIMIZERS[kind]
        clip = optax.clip_by_global_norm(clip_norm) if clip_norm else optax.identity()
        theirs, parameters = optax.chain(clip, _optax(optimizer)), _tensors(initial())
        state = theirs.init(parameters)
        for pull in pulls():
            gradients = {name: pull[name] + 0.1 * parameters[name] for name in SHAPES}
            changes, state = theirs.update(gradients, state, parameters)
            parameters = optax.apply_updates(parameters, changes)
        ours = self.train(optimizer, clip_norm, schedule_rates(optimizer))
        for name in SHAPES:
            np.testing.assert_allclose(ours[name], parameters[name], rtol=0, atol=1e-12)

"""The update rules on JAX. Formulas: `docs/training.md`; they are the same on every target.

Tensors travel as dictionaries by parameter name; the optimizer's state is such a dictionary per quantity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp

if TYPE_CHECKING:
    from jax import Array

    from ..spec import Optimizer

    Tensors = dict[str, Array]
    State = dict[str, Tensors]


def state_names(optimizer: Optimizer) -> tuple[str, ...]:
    """Return the quantities that an optimizer keeps per parameter; each begins at zero."""
    if optimizer.kind == "adamw":
        return ("first", "second")
    return ("velocity",) if optimizer.momentum > 0.0 else ()


def global_norm(gradients: Tensors) -> Array:
    """Return the square root of the sum of all squared elements."""
    return jnp.sqrt(sum(jnp.sum(gradient * gradient) for gradient in gradients.values()))


def clipped(gradients: Tensors, norm: Array, largest: float) -> Tensors:
    """Return gradients scaled by `min(1, largest / norm)`, or as they are where `largest` is 0."""
    if largest == 0.0:
        return gradients
    scale = jnp.minimum(1.0, largest / norm)
    return {name: gradient * scale for name, gradient in gradients.items()}


def update(
    optimizer: Optimizer, parameters: Tensors, gradients: Tensors, state: State, rates: Array
) -> tuple[Tensors, State]:
    """Make one update.

    Args:
        optimizer: The rule.
        parameters: Tensors before the update.
        gradients: Their gradients, clipped.
        state: The optimizer's tensors before the update.
        rates: Shape (3,): learning rate and AdamW's two bias corrections.

    Returns:
        Parameters and state after it.
    """
    rule = _adamw if optimizer.kind == "adamw" else _sgd
    return rule(optimizer, parameters, gradients, state, rates)


def _adamw(
    optimizer: Optimizer, parameters: Tensors, gradients: Tensors, state: State, rates: Array
) -> tuple[Tensors, State]:
    """AdamW (Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019, algorithm 2)."""
    (decay_first, decay_second), (rate, correct_first, correct_second) = optimizer.betas, rates
    scale, shrink, root = rate / correct_first, 1.0 - rate * optimizer.weight_decay, 1.0 / jnp.sqrt(correct_second)
    changed: State = {"first": {}, "second": {}}
    updated = {}
    for name, gradient in gradients.items():
        first = decay_first * state["first"][name] + (1.0 - decay_first) * gradient
        second = decay_second * state["second"][name] + (1.0 - decay_second) * gradient * gradient
        change = scale * first / (jnp.sqrt(second) * root + optimizer.eps)
        updated[name] = parameters[name] * shrink - change
        changed["first"][name], changed["second"][name] = first, second
    return updated, changed


def _sgd(
    optimizer: Optimizer, parameters: Tensors, gradients: Tensors, state: State, rates: Array
) -> tuple[Tensors, State]:
    """SGD with coupled decay and momentum (Sutskever et al., On the importance of initialization, 2013)."""
    momentum, updated, velocities = optimizer.momentum, {}, {}
    for name, gradient in gradients.items():
        decayed = optimizer.weight_decay * parameters[name]
        slope = gradient + decayed if optimizer.weight_decay else gradient
        if momentum > 0.0:
            velocities[name] = momentum * state["velocity"][name] + slope
            slope = slope + momentum * velocities[name] if optimizer.nesterov else velocities[name]
        updated[name] = parameters[name] - rates[0] * slope
    return updated, ({"velocity": velocities} if momentum > 0.0 else {})

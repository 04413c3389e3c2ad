"""The update rules on PyTorch. Formulas: `docs/training.md`; they are the same on every target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from ..spec import Optimizer

Tensors = "list[torch.Tensor]"


def new_state(optimizer: Optimizer, parameters: list[Any]) -> list[list[Any]]:
    """Return the optimizer's tensors, all zero: first and second moments for AdamW, the velocity for SGD."""
    count = 2 if optimizer.kind == "adamw" else int(optimizer.momentum > 0.0)
    return [[torch.zeros_like(parameter) for parameter in parameters] for _ in range(count)]


def global_norm(gradients: list[Any]) -> Any:
    """Return the square root of the sum of all squared elements."""
    return torch.sqrt(torch.stack([(gradient * gradient).sum() for gradient in gradients]).sum())


def clipped(gradients: list[Any], norm: Any, largest: float) -> list[Any]:
    """Return gradients scaled by `min(1, largest / norm)`, or as they are where `largest` is 0."""
    if largest == 0.0:
        return gradients
    scale = torch.where(norm > largest, largest / norm, torch.ones_like(norm))
    return [gradient * scale for gradient in gradients]


def update(
    optimizer: Optimizer,
    parameters: list[Any],
    gradients: list[Any],
    state: list[list[Any]],
    rates: Any,
) -> None:
    """Change parameters and state in place.

    Args:
        optimizer: The rule.
        parameters: Tensors to change.
        gradients: Their gradients, clipped.
        state: What `new_state` made.
        rates: Tensor of shape (3,): learning rate and AdamW's two bias corrections.
    """
    if optimizer.kind == "adamw":
        _adamw(optimizer, parameters, gradients, state, rates)
    else:
        _sgd(optimizer, parameters, gradients, state, rates)


def _adamw(
    optimizer: Optimizer,
    parameters: list[Any],
    gradients: list[Any],
    state: list[list[Any]],
    rates: Any,
) -> None:
    (first, second), (rate, correct_first, correct_second) = optimizer.betas, rates.unbind()
    for parameter, gradient, mean, square in zip(parameters, gradients, *state):
        mean.mul_(first).add_(gradient * (1.0 - first))
        square.mul_(second).add_(gradient * gradient * (1.0 - second))
        change = mean / (square.sqrt() / correct_second.sqrt() + optimizer.eps)
        parameter.mul_(1.0 - rate * optimizer.weight_decay).sub_(change * (rate / correct_first))


def _sgd(
    optimizer: Optimizer,
    parameters: list[Any],
    gradients: list[Any],
    state: list[list[Any]],
    rates: Any,
) -> None:
    momentum = optimizer.momentum
    velocities = state[0] if state else [None] * len(parameters)
    for parameter, gradient, velocity in zip(parameters, gradients, velocities):
        slope = gradient + optimizer.weight_decay * parameter if optimizer.weight_decay else gradient
        if velocity is not None:
            velocity.mul_(momentum).add_(slope)
            slope = slope + momentum * velocity if optimizer.nesterov else velocity
        parameter.sub_(rates[0] * slope)

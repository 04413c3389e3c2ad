"""The update rules on PyTorch. Formulas: `docs/training.md`; they are the same on every target.

PyTorch's fused kernels are used where they are there: their formulas are these. Where not, the same is written out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from . import gates

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from ..spec import Optimizer


@dataclass
class State:
    """What an optimizer keeps; everything begins at zero.

    Attributes:
        kept: Per quantity a tensor for each parameter: first and second moments for AdamW, the velocity for SGD.
        count: Updates made so far, a tensor that fused AdamW reads.
    """

    kept: list[list[Any]]
    count: Any


def new_state(optimizer: Optimizer, parameters: Sequence[Any]) -> State:
    """Return the optimizer's state before the first update."""
    count = 2 if optimizer.kind == "adamw" else int(optimizer.momentum > 0.0)
    made = torch.zeros((), dtype=torch.float32, device=parameters[0].device if parameters else None)
    return State([[torch.zeros_like(parameter) for parameter in parameters] for _ in range(count)], made)


def global_norm(gradients: list[Any]) -> Any:
    """Return the square root of the sum of all squared elements."""
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))  # noqa: SLF001 - as torch.nn.utils uses it


def clipped(gradients: list[Any], norm: Any, largest: float) -> list[Any]:
    """Return gradients scaled by `min(1, largest / norm)`, or as they are where `largest` is 0."""
    if largest == 0.0:
        return gradients
    scale = torch.where(norm > largest, largest / norm, torch.ones_like(norm))
    return [gradient * scale for gradient in gradients]


def update(optimizer: Optimizer, parameters: list[Any], gradients: list[Any], state: State, rates: np.ndarray) -> None:
    """Change parameters and state in place.

    Args:
        optimizer: The rule.
        parameters: Tensors to change.
        gradients: Their gradients, clipped.
        state: What `new_state` made.
        rates: Learning rate and AdamW's two bias corrections of this update.
    """
    state.count.add_(1)
    orders = [_order(parameter) for parameter in parameters]
    slopes = [_laid_out_as(parameter, gradient) for parameter, gradient in zip(parameters, gradients)]
    changed, slopes, *kept = (_in_order(tensors, orders) for tensors in (parameters, slopes, *state.kept))
    fused = gates.has_fused_updates(state.count.device.type)
    if optimizer.kind == "adamw":
        (_fused_adamw if fused else _adamw)(optimizer, changed, slopes, State(kept, state.count), rates)
    else:
        (_fused_sgd if fused else _sgd)(optimizer, changed, slopes, State(kept, state.count), rates)


def _laid_out_as(parameter: Any, gradient: Any) -> Any:
    """Return a gradient in its parameter's memory order, which fused kernels take for granted."""
    if gradient.stride() == parameter.stride():
        return gradient
    return torch.empty_like(parameter).copy_(gradient)


def _order(parameter: Any) -> tuple[int, ...]:
    """Return a parameter's axes as they follow each other in memory, or nothing where that is their own order."""
    if parameter.is_contiguous():
        return ()
    strides = parameter.stride()
    return tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))


def _in_order(tensors: Sequence[Any], orders: Sequence[tuple[int, ...]]) -> list[Any]:
    """Return views of tensors with their axes in the order of memory: fused kernels copy what has it otherwise."""
    return [tensor.permute(order) if order else tensor for tensor, order in zip(tensors, orders)]


def _fused_adamw(
    optimizer: Optimizer, parameters: list[Any], gradients: list[Any], state: State, rates: np.ndarray
) -> None:
    first, second = optimizer.betas
    torch._fused_adamw_(
        parameters,
        gradients,
        *state.kept,
        [],
        [state.count] * len(parameters),
        lr=float(rates[0]),
        beta1=first,
        beta2=second,
        weight_decay=optimizer.weight_decay,
        eps=optimizer.eps,
        amsgrad=False,
        maximize=False,
    )


def _fused_sgd(
    optimizer: Optimizer, parameters: list[Any], gradients: list[Any], state: State, rates: np.ndarray
) -> None:
    torch._fused_sgd_(
        parameters,
        gradients,
        *(state.kept or [[]]),
        weight_decay=optimizer.weight_decay,
        momentum=optimizer.momentum,
        lr=float(rates[0]),
        dampening=0.0,
        nesterov=optimizer.nesterov,
        maximize=False,
        is_first_step=False,
    )


def _adamw(optimizer: Optimizer, parameters: list[Any], gradients: list[Any], state: State, rates: np.ndarray) -> None:
    (first, second), (rate, correct_first, correct_second) = optimizer.betas, map(float, rates)
    for parameter, gradient, mean, square in zip(parameters, gradients, *state.kept):
        mean.mul_(first).add_(gradient, alpha=1.0 - first)
        square.mul_(second).addcmul_(gradient, gradient, value=1.0 - second)
        size = square.sqrt().div_(math.sqrt(correct_second)).add_(optimizer.eps)
        parameter.mul_(1.0 - rate * optimizer.weight_decay).addcdiv_(mean, size, value=-rate / correct_first)


def _sgd(optimizer: Optimizer, parameters: list[Any], gradients: list[Any], state: State, rates: np.ndarray) -> None:
    momentum, rate = optimizer.momentum, float(rates[0])
    velocities = state.kept[0] if state.kept else [None] * len(parameters)
    for parameter, gradient, velocity in zip(parameters, gradients, velocities):
        slope = gradient.add(parameter, alpha=optimizer.weight_decay) if optimizer.weight_decay else gradient
        if velocity is not None:
            velocity.mul_(momentum).add_(slope)
            slope = slope.add(velocity, alpha=momentum) if optimizer.nesterov else velocity
        parameter.add_(slope, alpha=-rate)

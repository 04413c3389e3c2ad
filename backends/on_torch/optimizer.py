"""The optimizer on PyTorch. Formulas: `docs/training.md`; they are the same on every target.

PyTorch's fused kernels are used for Adam, AdamW and SGD where they are there: their formulas are these. All else is by
the shared rules of `backends/optimizers.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..optimizer_groups import parts
from ..optimizer_rules import Before
from ..optimizers import apply, held_of, slots, state_shapes
from . import arrays, gates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from ..optimizer_groups import Own
    from ..spec import Optimizer

    Tensors = dict[str, Any]

_FUSED = ("adam", "adamw", "sgd")


def new_state(optimizer: Optimizer, parameters: Mapping[str, Any]) -> Tensors:
    """Return the optimizer's tensors before the first update, by slot and parameter, such as `first/weight`.

    Args:
        optimizer: The rule.
        parameters: Tensors by name; what the optimizer keeps of a parameter's shape is in its memory order.

    Raises:
        UnsupportedError: A group or pattern of the optimizer is of no parameter.
    """
    return {
        key: _zeros(parameters[key.partition("/")[2]], shape)
        for key, shape in state_shapes(optimizer, parameters, {}).items()
    }


def _zeros(parameter: Any, shape: tuple[int, ...]) -> Any:
    if shape == tuple(parameter.shape):
        return torch.zeros_like(parameter, requires_grad=False)
    return torch.zeros(shape, dtype=parameter.dtype, device=parameter.device)


def global_norm(gradients: list[Any]) -> Any:
    """Return the square root of the sum of all squared elements."""
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))  # noqa: SLF001 - as torch.nn.utils uses it


def clipped(gradients: list[Any], norm: Any, largest: float) -> list[Any]:
    """Return gradients scaled by `min(1, largest / norm)`, or as they are where `largest` is 0."""
    if largest == 0.0:
        return gradients
    scale = torch.where(norm > largest, largest / norm, torch.ones_like(norm))
    return [gradient * scale for gradient in gradients]


def update(
    optimizer: Optimizer, parameters: Mapping[str, Any], gradients: Tensors, state: Tensors, rates: np.ndarray
) -> None:
    """Change parameters and state in place.

    Args:
        optimizer: The rule.
        parameters: Tensors to change.
        gradients: Their gradients, clipped.
        state: What `new_state` made.
        rates: A row of `schedule.rates`.
    """
    for own, names in parts(optimizer, parameters):
        device = parameters[names[0]].device
        if own.rule.kind in _FUSED and gates.has_fused_updates(device.type):
            _fused(own, {name: parameters[name] for name in names}, gradients, state, rates)
            continue
        row = torch.tensor(rates, dtype=parameters[names[0]].dtype, device=device)
        for name in names:
            held = held_of(own.rule, name, parameters[name].dim(), state)
            _shared(own, Before(parameters[name], gradients[name], held), row)


def _shared(own: Own, before: Before, rates: Any) -> None:
    made, after = apply(arrays, own, before, rates)
    before.parameter.copy_(made)
    for slot, kept in before.held.items():
        kept.copy_(after[slot])


def _fused(own: Own, parameters: Mapping[str, Any], gradients: Tensors, state: Tensors, rates: np.ndarray) -> None:
    orders = [_order(parameter) for parameter in parameters.values()]
    slopes = [_laid_out_as(parameter, gradients[name]) for name, parameter in parameters.items()]
    kept = [[state[f"{slot}/{name}"] for name in parameters] for slot in slots(own.rule, ())]
    changed, slopes, *kept = (_in_order(tensors, orders) for tensors in (list(parameters.values()), slopes, *kept))
    kernel = _fused_sgd if own.rule.kind == "sgd" else _fused_adam
    kernel(own, [changed, slopes, *kept], rates)


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


def _fused_adam(own: Own, tensors: list[list[Any]], rates: np.ndarray) -> None:
    """Adam or AdamW: the kernels correct the moments themselves, by the update's number."""
    kernel = torch._fused_adamw_ if own.rule.kind == "adamw" else torch._fused_adam_
    first, second = own.rule.betas
    count = torch.full((), float(rates[3]), dtype=torch.float32, device=tensors[0][0].device)
    kernel(
        *tensors,
        [],
        [count] * len(tensors[0]),
        lr=float(rates[0]) * own.share,
        beta1=first,
        beta2=second,
        weight_decay=own.rule.weight_decay,
        eps=own.rule.eps,
        amsgrad=False,
        maximize=False,
    )


def _fused_sgd(own: Own, tensors: list[list[Any]], rates: np.ndarray) -> None:
    parameters, gradients, *velocities = tensors
    torch._fused_sgd_(
        parameters,
        gradients,
        *(velocities or [[]]),
        weight_decay=own.rule.weight_decay,
        momentum=own.rule.momentum,
        lr=float(rates[0]) * own.share,
        dampening=0.0,
        nesterov=own.rule.nesterov,
        maximize=False,
        is_first_step=False,
    )

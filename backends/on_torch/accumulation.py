"""Gradients of several micro-batches, what is made of them before an update, and averages after it, on PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..accumulating import SHARE, Limits
from .optimizer import clipped, global_norm

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Callable

    Slopes = Callable[[dict[str, Any], Any], tuple[Any, list[Any]]]


def summed(slopes: Slopes, parts: Sequence[dict[str, Any]], sums: list[Any]) -> tuple[Any, list[Any]]:
    """Return the loss and the gradients of all micro-batches, each by its share.

    Args:
        slopes: Takes a micro-batch and its share, returns its loss and its gradients times the share.
        parts: The micro-batches, with their shares.
        sums: A tensor per parameter, which the gradients are added up in.
    """
    losses = []
    torch._foreach_zero_(sums)
    for part in parts:
        loss, gradients = slopes(part, part[SHARE])
        torch._foreach_add_(sums, gradients)
        losses.append(loss * part[SHARE])
    return sum(losses), sums


def _small(gradients: list[Any], largest: float) -> list[Any]:
    return [gradient.clamp(-largest, largest) for gradient in gradients]


limited = Limits(global_norm, clipped, _small).limited


def average(ema: float, averages: list[Any], parameters: list[Any]) -> None:
    """Move averages towards parameters, in place."""
    torch._foreach_mul_(averages, ema)
    torch._foreach_add_(averages, parameters, alpha=1.0 - ema)

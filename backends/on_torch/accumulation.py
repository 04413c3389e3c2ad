"""Gradients of several micro-batches, what is made of them before an update, and averages after it, on PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..accumulating import SHARE
from .optimizer import clipped, global_norm

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Callable

    from ..spec import Train

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


def limited(train: Train, gradients: list[Any], *, wanted: bool) -> tuple[list[Any], Any]:
    """Return gradients clipped by value and then by norm, and their norm before that.

    Args:
        train: Which limits there are.
        gradients: Gradients.
        wanted: Whether the norm is wanted where no limit needs it; it is None otherwise.
    """
    norm = global_norm(gradients) if wanted or (train.clip_norm and not train.clip_value) else None
    if not train.clip_value:
        return clipped(gradients, norm, train.clip_norm), norm
    small = [gradient.clamp(-train.clip_value, train.clip_value) for gradient in gradients]
    return clipped(small, global_norm(small) if train.clip_norm else None, train.clip_norm), norm


def average(ema: float, averages: list[Any], parameters: list[Any]) -> None:
    """Move averages towards parameters, in place."""
    torch._foreach_mul_(averages, ema)
    torch._foreach_add_(averages, parameters, alpha=1.0 - ema)

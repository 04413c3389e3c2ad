"""Gradients of several micro-batches, what is made of them before an update, and averages after it, on JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..accumulating import SHARE, Limits
from .optimizer import clipped, global_norm

if TYPE_CHECKING:
    from typing import Callable

    from jax import Array

    Tensors = dict[str, Array]
    Slopes = Callable[[Tensors, Tensors], tuple[Array, Tensors, Tensors]]


def summed(
    slopes: Slopes, batch: Tensors, parameters: Tensors, running: Tensors, *, scanned: bool
) -> tuple[Array, Tensors, Tensors]:
    """Return the loss and the gradients of all micro-batches, each by its share, and the last state.

    Args:
        slopes: Takes a micro-batch and a state, returns its loss, gradients and new state.
        batch: The micro-batches along a leading axis, with their shares.
        parameters: What the gradients are for.
        running: The state before the first.
        scanned: Whether they go through one compiled loop, or operator by operator.
    """

    def turn(before: Any, part: Tensors) -> tuple[Any, None]:
        loss, total, state = before
        share = part[SHARE]
        found, gradients, renewed = slopes({name: value for name, value in part.items() if name != SHARE}, state)
        return (loss + share * found, {name: total[name] + share * gradients[name] for name in total}, renewed), None

    zeros = {name: jnp.zeros_like(value) for name, value in parameters.items()}
    made: Any = (jnp.zeros_like(batch[SHARE][0]), zeros, running)
    if scanned:
        made, _ = jax.lax.scan(turn, made, batch)
        return made
    for place in range(len(batch[SHARE])):
        made, _ = turn(made, {name: value[place] for name, value in batch.items()})
    return made


def _small(gradients: Tensors, largest: float) -> Tensors:
    return {name: jnp.clip(value, -largest, largest) for name, value in gradients.items()}


limited = Limits(global_norm, clipped, _small).limited


def moved(ema: float, averages: Tensors, parameters: Tensors) -> Tensors:
    """Return averages moved towards parameters; there may be none."""
    return {name: ema * value + (1.0 - ema) * parameters[name] for name, value in averages.items()}

"""Gradients of several micro-batches, what is made of them before an update, and averages after it, on TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..accumulating import SHARE, Limits
from .optimizer import clipped, global_norm

if TYPE_CHECKING:
    from typing import Callable

    Tensors = dict[str, tf.Tensor]
    Slopes = Callable[[Tensors, Tensors], tuple[tf.Tensor, Tensors, Tensors]]

# How many micro-batches a graph has side by side; more go through a loop.
_MOST_WRITTEN_OUT = 8


def summed(slopes: Slopes, batch: Tensors, running: Tensors, count: int) -> tuple[tf.Tensor, Tensors, Tensors]:
    """Return the loss and the gradients of all micro-batches, each by its share, and the last state.

    Args:
        slopes: Takes a micro-batch and a state, returns its loss, gradients and new state.
        batch: The micro-batches along a leading axis, with their shares.
        running: The state before the first.
        count: How many they are.
    """
    first = _turn(slopes, {name: value[0] for name, value in batch.items()}, running, None)
    if tf.executing_eagerly() or count <= _MOST_WRITTEN_OUT:
        return _written_out(slopes, batch, first, count)

    def body(place: tf.Tensor, *before: Any) -> tuple[Any, ...]:
        loss, total, state = before
        part = {name: tf.ensure_shape(tf.gather(value, place), value.shape[1:]) for name, value in batch.items()}
        return place + 1, *_turn(slopes, part, state, (loss, total))

    _, *made = tf.while_loop(
        lambda place, *_: place < count,
        body,
        (tf.constant(1), *first),
        parallel_iterations=1,
        maximum_iterations=count - 1,
    )
    return tuple(made)


def _written_out(slopes: Slopes, batch: Tensors, made: Any, count: int) -> Any:
    for place in range(1, count):
        # One after the other: side by side they would all be in memory at once.
        with tf.control_dependencies(list(made[1].values())):
            part = {name: tf.identity(value)[place] for name, value in batch.items()}
            made = _turn(slopes, part, made[2], made[:2])
    return made


def _turn(slopes: Slopes, part: Tensors, running: Tensors, before: Any) -> tuple[tf.Tensor, Tensors, Tensors]:
    """Return loss, gradients and state with one more micro-batch."""
    share = part[SHARE]
    loss, gradients, renewed = slopes({name: value for name, value in part.items() if name != SHARE}, running)
    loss, gradients = loss * share, {name: value * share for name, value in gradients.items()}
    if before is not None:
        loss = before[0] + loss
        gradients = {name: tf.ensure_shape(total + gradients[name], total.shape) for name, total in before[1].items()}
    return loss, gradients, renewed


def _small(gradients: Tensors, largest: float) -> Tensors:
    return {name: tf.clip_by_value(value, -largest, largest) for name, value in gradients.items()}


limited = Limits(global_norm, clipped, _small).limited

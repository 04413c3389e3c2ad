"""Loops of a known number of turns in a TensorFlow graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

if TYPE_CHECKING:
    from ..control import States, Step


def kinds_of(function: Callable[[], Any]) -> Any:
    """Return a `tf.TensorSpec` for each tensor that a function gives, in the structure that it gives them."""
    traced = tf.function(function, autograph=False).get_concrete_function().structured_outputs
    return tf.nest.map_structure(lambda kind: tf.TensorSpec(kind.shape, kind.dtype), traced)


def steps_in_graph(step: Step, states: States, inputs: States, length: int, rows: Any) -> tuple[States, States]:
    """Go along the first axis of the inputs with one loop; its number of turns is stated, as compiled gradients need.

    Args:
        step: Takes states and one entry of each input, returns states and outputs.
        states: The first ones.
        inputs: Tensors.
        length: The number of turns.
        rows: The outputs' kinds.
    """
    stacks = tuple(tf.TensorArray(kind.dtype, length, element_shape=kind.shape) for kind in rows)

    def turn(place: tf.Tensor, before: States, stacks: Any) -> tuple[Any, ...]:
        after, made = step(before, tuple(tf.gather(value, place) for value in inputs))
        return place + 1, after, tuple(stack.write(place, row) for stack, row in zip(stacks, made))

    _, last, stacks = tf.while_loop(
        lambda place, *_: place < length, turn, (tf.constant(0), tuple(states), stacks), maximum_iterations=length
    )
    return tuple(last), tuple(stack.stack() for stack in stacks)

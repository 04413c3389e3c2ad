"""TensorFlow rules: If, Loop, Scan and SequenceMap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

from ..control import FEW_TURNS, Functions, chosen, looped, mapped, scanned, written_out
from ..errors import UnsupportedError
from ..registry import rule
from .stepping import kinds_of, steps_in_graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..control import Loop, States, Step

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


def _tracing() -> bool:
    return not tf.executing_eagerly()


def _truth(value: tf.Tensor) -> Any:
    known = tf.get_static_value(value)
    return None if known is None else known.item()


def _scan(step: Step, states: States, inputs: States, length: int) -> tuple[States, States]:
    """Go along the first axis: in Python where that runs as it goes or shapes change, and as one loop otherwise."""
    if not _tracing():
        return written_out(step, states, inputs, length, FUNCTIONS)
    elements = tuple(_blank(value) for value in inputs)
    try:
        after, rows = kinds_of(lambda: step(states, elements))
    except UnsupportedError:
        return written_out(step, states, inputs, length, FUNCTIONS)
    if after != kinds_of(lambda: states):
        return written_out(step, states, inputs, length, FUNCTIONS)
    return steps_in_graph(step, states, inputs, length, rows)


def _branch(condition: tf.Tensor, first: Callable[[], States], second: Callable[[], States]) -> States:
    if kinds_of(first) != kinds_of(second):
        raise UnsupportedError(
            "If on tensorflow has branches that give tensors of different shapes or dtypes, and its condition depends "
            "on the values of a run: make the condition a constant, or evaluate without compiling"
        )
    return tuple(tf.cond(tf.reshape(condition, ()), lambda: tuple(first()), lambda: tuple(second())))


def _turns(loop: Loop) -> States:
    """Do turns until the condition ends them; compiled, there is a gradient where there are few at most."""
    begin = tf.reshape(tf.convert_to_tensor(loop.condition), ())
    limit = loop.most if loop.limit is None else tf.reshape(loop.limit, ())

    def turn(place: tf.Tensor, flag: tf.Tensor, states: States) -> tuple[tf.Tensor, tf.Tensor, States]:
        made, after, _ = loop.turn(place, flag, states)
        return place + 1, flag if loop.ignored else tf.reshape(made, ()), after

    if kinds_of(lambda: turn(tf.constant(0, tf.int64), begin, loop.states)[2]) != kinds_of(lambda: loop.states):
        raise UnsupportedError(
            "Loop on tensorflow changes the shape of what its turns hand on, and the number of turns depends on the "
            "values of a run: make that number a constant, or evaluate without compiling"
        )
    few = loop.most is not None and loop.most <= FEW_TURNS
    made = tf.while_loop(
        lambda place, flag, _: flag if limit is None else flag & (place < limit),
        turn,
        (tf.constant(0, tf.int64), begin, loop.states),
        maximum_iterations=loop.most if few else None,
    )
    return tuple(made[2])


def _blank(value: tf.Tensor) -> tf.Tensor:
    return tf.zeros(value.shape[1:], value.dtype)


def _move(value: tf.Tensor, axis: int, to: int) -> tf.Tensor:
    order = [place for place in range(value.shape.rank) if place != axis % value.shape.rank]
    order.insert(to % value.shape.rank, axis % value.shape.rank)
    return tf.transpose(value, order)


FUNCTIONS = Functions(
    target="tensorflow",
    tracing=_tracing,
    truth=_truth,
    number=lambda value: tf.constant(value, tf.int64),
    numbers=lambda count: tf.range(count, dtype=tf.int64),
    boolean=tf.constant,
    scan=_scan,
    branch=_branch,
    turns=_turns,
    move=_move,
    flip=lambda value, axis: tf.reverse(value, (axis,)),
    stack=lambda values: tf.stack(list(values)),
    element=lambda value, place: value[place],
    blank=_blank,
)


@rule("If", "tensorflow")
def _if(inputs: Inputs, attributes: Attributes) -> States:
    return chosen(inputs, attributes, FUNCTIONS)


@rule("Loop", "tensorflow")
def _loop(inputs: Inputs, attributes: Attributes) -> States:
    return looped(inputs, attributes, FUNCTIONS)


@rule("Scan", "tensorflow")
def _scan_node(inputs: Inputs, attributes: Attributes) -> States:
    return scanned(inputs, attributes, FUNCTIONS)


@rule("SequenceMap", "tensorflow")
def _sequence_map(inputs: Inputs, attributes: Attributes) -> States:
    return mapped(inputs, attributes)

"""TensorFlow rules: RNN, GRU, LSTM and linear attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from ..linear_attention import Extras, linear_attention
from ..recurrence import Functions, recurrent
from ..registry import rule
from .stepping import kinds_of, steps_in_graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..recurrence import States, Step

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


def _scan(step: Step, states: States, inputs: States) -> tuple[States, States]:
    """Go along the first axis of the inputs: in Python where that runs as it goes, and as one loop in a graph."""
    if not tf.executing_eagerly():
        _, rows = kinds_of(lambda: step(states, tuple(value[0] for value in inputs)))
        return steps_in_graph(step, states, inputs, inputs[0].shape[0], rows)
    made = []
    for parts in zip(*(tf.unstack(value) for value in inputs)):
        states, output = step(states, parts)
        made.append(output)
    return states, tuple(tf.stack(parts) for parts in zip(*made))


def _flip(data: tf.Tensor, lengths: tf.Tensor | None) -> tf.Tensor:
    if lengths is None:
        return tf.reverse(data, (0,))
    return tf.reverse_sequence(data, lengths, seq_axis=0, batch_axis=1)


def _live(steps: int, lengths: tf.Tensor) -> tf.Tensor:
    return (tf.range(steps, dtype=lengths.dtype)[:, None] < lengths[None, :])[..., None]


FUNCTIONS = Functions(
    target="tensorflow",
    project=lambda value, matrix: tf.tensordot(value, matrix, ((-1,), (-1,))),
    split=lambda value, parts: tf.split(value, parts, axis=-1),
    clip=lambda value, limit: tf.clip_by_value(value, -limit, limit),
    where=tf.where,
    zeros=lambda shape, beside: tf.zeros(shape, beside.dtype),
    transpose=tf.transpose,
    stack=tf.stack,
    flip=_flip,
    live=_live,
    scan=_scan,
)
_EXTRAS = Extras(
    reshape=tf.reshape,
    cast=tf.cast,
    name=lambda value: str(value.dtype.name),
    exp=tf.exp,
    einsum=tf.einsum,
)


@rule("RNN", "tensorflow")
def _rnn(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, ...]:
    return recurrent("RNN", inputs, attributes, FUNCTIONS)


@rule("GRU", "tensorflow")
def _gru(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, ...]:
    return recurrent("GRU", inputs, attributes, FUNCTIONS)


@rule("LSTM", "tensorflow")
def _lstm(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, ...]:
    return recurrent("LSTM", inputs, attributes, FUNCTIONS)


@rule("LinearAttention", "tensorflow")
def _linear_attention(inputs: Inputs, attributes: Attributes) -> tuple[tf.Tensor, tf.Tensor]:
    return linear_attention(inputs, attributes, FUNCTIONS, _EXTRAS)

"""Evaluating a program on TensorFlow, with every dtype as the program states it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import tensorflow as tf

from ..lower import Lowered
from ..values import Narrow
from . import rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..program import Program

__all__ = ["Evaluation", "rules"]


class Evaluation:
    """A program that is evaluated and not trained.

    Args:
        program: What to evaluate; its outputs, and not its loss, count.
        compile: Whether `tf.function` with XLA is used.

    Raises:
        UnsupportedError: An operator has no rule here.
    """

    def __init__(self, program: Program, *, compile: bool = False) -> None:  # noqa: A002 - the spec's own word
        self._program = program
        self._lowered = Lowered(program, "tensorflow", "stated")
        arrays = {**program.constants, **program.state, **program.parameters}
        self._tensors = {name: to_device(stated(value, program.narrow.get(name))) for name, value in arrays.items()}
        self._call = compiled(self._forward) if compile else self._forward

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Evaluate.

        Args:
            inputs: Arrays, `Narrow` arrays, lists of them (sequences) or None (empty optionals) by name.

        Returns:
            The same kinds by name of output.
        """
        made = self._call({name: to_device(value) for name, value in inputs.items()})
        return {name: to_host(value) for name, value in made.items()}

    def gradients(
        self, inputs: Mapping[str, Any], wrt: Sequence[str], cotangents: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return the gradient of the sum over outputs of `output * cotangent`, by name of input or initial tensor."""
        placed = {**self._tensors, **{name: to_device(value) for name, value in inputs.items()}}
        moving = [placed[name] for name in wrt]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(moving)
            made = self._lowered(placed, {})
            total = tf.add_n([tf.reduce_sum(made[name] * value) for name, value in cotangents.items()])
        found = tape.gradient(total, moving, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return {name: to_host(tf.convert_to_tensor(gradient)) for name, gradient in zip(wrt, found)}

    def _forward(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        known = self._lowered(self._tensors, inputs)
        return {name: known[name] for name in self._program.outputs}


def compiled(forward: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function compiled by XLA, into and out of which `Narrow` tensors go as what carries them."""
    made_dtypes: dict[str, str] = {}

    def traced(carriers: Mapping[str, Any], dtypes: tuple[tuple[str, str], ...]) -> dict[str, Any]:
        made = forward({**carriers, **{name: Narrow(carriers[name], dtype) for name, dtype in dtypes}})
        made_dtypes.update({name: value.dtype for name, value in made.items() if isinstance(value, Narrow)})
        return {name: value.values if isinstance(value, Narrow) else value for name, value in made.items()}

    call = tf.function(traced, jit_compile=True, autograph=False)

    def run(inputs: Mapping[str, Any]) -> dict[str, Any]:
        narrow = {name: value for name, value in inputs.items() if isinstance(value, Narrow)}
        dtypes = tuple((name, value.dtype) for name, value in narrow.items())
        made = call({**inputs, **{name: value.values for name, value in narrow.items()}}, dtypes)
        return {**made, **{name: Narrow(made[name], dtype) for name, dtype in made_dtypes.items()}}

    return run


def stated(value: np.ndarray, narrow: str | None) -> Any:
    """Return an initial tensor as what it stands for."""
    return value if narrow is None else Narrow(value, narrow)


def to_device(value: Any) -> Any:
    """Return a host value as the rules take it."""
    if isinstance(value, list):
        return [to_device(entry) for entry in value]
    if value is None or tf.is_tensor(value):
        return value
    if isinstance(value, Narrow):
        carrier = tf.constant(value.values)
        return tf.cast(carrier, tf.bfloat16) if value.dtype == "bfloat16" else Narrow(carrier, value.dtype)
    return tf.constant(value)


def to_host(value: Any) -> Any:
    """Return what a rule made as a host value."""
    if isinstance(value, (list, tuple)):
        return [to_host(entry) for entry in value]
    if isinstance(value, Narrow):
        return Narrow(np.asarray(to_host(value.values)), value.dtype)
    if value is None:
        return None
    value = tf.convert_to_tensor(value)
    if value.dtype == tf.bfloat16:
        return Narrow(tf.cast(value, tf.float32).numpy(), "bfloat16")
    return np.asarray(value.numpy())

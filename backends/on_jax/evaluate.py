"""Evaluating a program on JAX, with every dtype as the program states it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..lower import Lowered
from ..values import Narrow
from . import gates, rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..program import Program

__all__ = ["Evaluation", "rules"]


class Evaluation:
    """A program that is evaluated and not trained.

    Args:
        program: What to evaluate; its outputs, and not its loss, count.
        compile: Whether `jax.jit` is used.

    Raises:
        UnsupportedError: An operator has no rule here.
    """

    def __init__(self, program: Program, *, compile: bool = False) -> None:  # noqa: A002 - the spec's own word
        self._program = program
        self._lowered = Lowered(program, "jax", "stated")
        arrays = {**program.constants, **program.state, **program.parameters}
        with gates.wide_numbers(enabled=True):
            self._tensors = {name: to_device(stated(value, program.narrow.get(name))) for name, value in arrays.items()}
        self._call = jax.jit(self._forward) if compile else self._forward

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Evaluate.

        Args:
            inputs: Arrays, `Narrow` arrays, lists of them (sequences) or None (empty optionals) by name.

        Returns:
            The same kinds by name of output.
        """
        with gates.wide_numbers(enabled=True):
            made = self._call({name: to_device(value) for name, value in inputs.items()})
            return {name: to_host(value) for name, value in made.items()}

    def gradients(
        self, inputs: Mapping[str, Any], wrt: Sequence[str], cotangents: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return the gradient of the sum over outputs of `output * cotangent`, by name of input or initial tensor."""
        with gates.wide_numbers(enabled=True):
            placed = {**self._tensors, **{name: to_device(value) for name, value in inputs.items()}}

            def total(moving: Mapping[str, Any]) -> Any:
                made = self._lowered({**placed, **moving}, {})
                return sum(jnp.sum(made[name] * value) for name, value in cotangents.items())

            found = jax.grad(total)({name: placed[name] for name in wrt})
            return {name: np.asarray(gradient) for name, gradient in found.items()}

    def _forward(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        known = self._lowered(self._tensors, inputs)
        return {name: known[name] for name in self._program.outputs}


# A `Narrow` value passes through traced functions with its carrier.
jax.tree_util.register_pytree_node(
    Narrow, lambda value: ((value.values,), value.dtype), lambda dtype, parts: Narrow(parts[0], dtype)
)


def stated(value: np.ndarray, narrow: str | None) -> Any:
    """Return an initial tensor as what it stands for."""
    return value if narrow is None else Narrow(value, narrow)


def to_device(value: Any) -> Any:
    """Return a host value as the rules take it."""
    if isinstance(value, list):
        return [to_device(entry) for entry in value]
    if value is None or isinstance(value, jax.Array):
        return value
    if isinstance(value, Narrow):
        carrier = jnp.asarray(value.values)
        return carrier.astype(jnp.bfloat16) if value.dtype == "bfloat16" else Narrow(carrier, value.dtype)
    return jnp.asarray(value)


def to_host(value: Any) -> Any:
    """Return what a rule made as a host value."""
    if isinstance(value, (list, tuple)):
        return [to_host(entry) for entry in value]
    if isinstance(value, Narrow):
        return Narrow(np.asarray(value.values), value.dtype)
    if value is None:
        return None
    if value.dtype == jnp.bfloat16:
        return Narrow(np.asarray(value.astype(jnp.float32)), "bfloat16")
    return np.asarray(value)

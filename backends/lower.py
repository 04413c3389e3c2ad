"""Lowering: a program's nodes bound to a target's rules, ready to be called or traced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from .errors import UnsupportedError
from .registry import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .program import Node, Program

    After = Callable[[Node, str, Any], Any]

# ONNX TensorProto.DataType numbers.
_FLOAT, _DOUBLE = 1, 11


class Lowered:
    """A program's forward pass on one target.

    Args:
        program: What to compute.
        target: `torch`, `tensorflow` or `jax`; its rules must have been imported.
        precision: `float32`, or `float64`, in which conversions to float32 are to float64 as well.
        static: What an integer constant becomes; stays a numpy array where left out.

    Raises:
        UnsupportedError: An operator has no rule on the target.
    """

    def __init__(
        self,
        program: Program,
        target: str,
        precision: str = "float32",
        static: Callable[[np.ndarray], Any] = lambda value: value,
    ) -> None:
        self._target = target
        self._steps = [(_widened_cast(node, precision), find(node.op, target)) for node in program.nodes]
        self._static = {name: static(value) for name, value in program.constants.items() if not is_float(value)}
        self._loss = program.loss

    def __call__(
        self,
        floats: Mapping[str, Any],
        batch: Mapping[str, Any],
        after: After | None = None,
    ) -> dict[str, Any]:
        """Run the nodes.

        Args:
            floats: The target's tensors of all parameters and of all floating-point constants, by name.
            batch: The target's tensors of the program's inputs, by name.
            after: Called with (node, output name, tensor) for each output; what it returns takes the tensor's place.

        Returns:
            Every named tensor of the graph; the loss is under `program.loss`.

        Raises:
            UnsupportedError: A rule refuses a node, or makes fewer outputs than the node names.
        """
        known: dict[str, Any] = {**self._static, **floats, **batch}
        for node, rule in self._steps:
            made = rule([known[name] if name else None for name in node.inputs], node.attributes)
            tensors = made if isinstance(made, tuple) else (made,)
            if len(tensors) < len(node.outputs):
                raise UnsupportedError(
                    f"{node.op} on {self._target} makes {len(tensors)} of its outputs; "
                    f"{node.outputs[len(tensors)]!r} is one more"
                )
            for name, tensor in zip(node.outputs, tensors):
                known[name] = tensor if after is None else after(node, name, tensor)
        return known


def _widened_cast(node: Node, precision: str) -> Node:
    if precision == "float64" and node.op == "Cast" and node.attributes["to"] == _FLOAT:
        return replace(node, attributes={**node.attributes, "to": _DOUBLE})
    return node


def is_float(array: np.ndarray) -> bool:
    """Say whether an array holds floating-point numbers."""
    return bool(np.issubdtype(array.dtype, np.floating))


def widened(tensors: Mapping[str, np.ndarray], precision: str) -> dict[str, np.ndarray]:
    """Return the floating-point tensors of a mapping in a precision, `float32` or `float64`; others are left out."""
    return {name: value.astype(precision) for name, value in tensors.items() if is_float(value)}

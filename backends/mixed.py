"""Mixed precision as a pass over the program, so that it is the same on every framework.

Products run in a narrow dtype, from float32 parameters that are cast anew in each step (Micikevicius et al., Mixed
Precision Training, 2018, section 3). Operators that only move values, and element-wise ones whose size cannot grow
much, follow in the narrow dtype where all of their tensors have it. Everything else, such as norms, softmax, sums and
the loss, is float32.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .errors import UnsupportedError
from .graph import Body, Node
from .values import MOVING_OPERATORS, NARROW_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .program import Program

# ONNX TensorProto.DataType numbers.
_FLOAT = 1
NARROW = {"bfloat16": 16, "float16": 10}
# Names of mixed precisions, and the dtype of their products.
PRECISIONS = {"bf16-mixed": "bfloat16"}
_PRODUCTS = frozenset({"Attention", "Conv", "ConvLast", "ConvTranspose", "Einsum", "Gemm", "MatMul"})
_FOLLOWING = MOVING_OPERATORS | {
    *("Abs", "Add", "Clip", "Dropout", "Gelu", "LeakyRelu", "Max", "MaxPool", "MaxPoolLast", "Min", "Mul", "Neg"),
    *("Relu", "RotaryEmbedding", "SeededDropout", "Sigmoid", "Sub", "Swish", "Tanh"),
}
# Operators that make no floating-point numbers of such.
_WHOLE = frozenset(
    {
        *("And", "ArgMax", "ArgMin", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual"),
        *("NonZero", "Not", "Or", "Shape", "Size", "Xor"),
    }
)


def mixed(program: Program, dtype: str) -> Program:
    """Return a program whose products are computed in a narrow dtype.

    Args:
        program: A program in float32.
        dtype: `bfloat16`, `float16`, or empty for the program as it is.

    Raises:
        UnsupportedError: The program has control flow, whose bodies see tensors by name.
    """
    return _Mixer(program, NARROW[dtype]).mixed() if dtype else program


class _Mixer:
    """Walks the nodes; a tensor in `_narrow` is there under its name with the suffix, one in `_wide` as it is."""

    def __init__(self, program: Program, number: int) -> None:
        self._program, self._number = program, number
        held = {**program.parameters, **program.constants, **program.state}
        self._single = {name for name, value in program.constants.items() if value.size == 1}
        self._floats = {name for name, value in held.items() if value.dtype == np.float32}
        self._floats.update(entry.name for entry in program.inputs if entry.dtype == "float32")
        self._wide = {*held, *(entry.name for entry in program.inputs)}
        self._narrow: set[str] = set()
        self._nodes: list[Node] = []

    def mixed(self) -> Program:
        for node in self._program.nodes:
            self._nodes.extend(self._node(node))
        wanted = (self._program.loss, *self._program.outputs, *self._program.updates.values())
        self._nodes.extend(step for name in wanted for step in self._as_wide(name))
        return replace(self._program, nodes=tuple(self._nodes))

    def _node(self, node: Node) -> Iterator[Node]:
        if any(isinstance(value, Body) for value in node.attributes.values()):
            raise UnsupportedError(f"{node.op} has bodies, which mixed precision does not reach: train it in float32")
        floats = [name for name in node.inputs if name in self._floats]
        if (node.op in _PRODUCTS and floats) or self._follows(node, floats):
            yield from (step for name in floats for step in self._as_narrow(name))
            made = {name for place, name in _named(node) if name and self._is_float(node, place)}
            inputs, outputs = (_renamed(names, of) for names, of in ((node.inputs, set(floats)), (node.outputs, made)))
            yield replace(node, inputs=inputs, outputs=outputs)
            self._note(node, self._narrow)
        else:
            yield from (step for name in floats for step in self._as_wide(name))
            yield node
            self._note(node, self._wide)

    def _follows(self, node: Node, floats: list[str]) -> bool:
        """Say whether a node keeps to the narrow dtype: one of its tensors has it, and the others are no wider."""
        if node.op not in _FOLLOWING or not any(name in self._narrow for name in floats):
            return False
        return all(name in self._narrow or name in self._single for name in floats)

    def _is_float(self, node: Node, place: int) -> bool:
        """Say whether an output holds floating-point numbers: of those that follow, masks and indices do not."""
        return place == 0 or node.op in _PRODUCTS or node.op == "Split"

    def _note(self, node: Node, kind: set[str]) -> None:
        """Take note of what a node makes."""
        casts = node.op in {"Cast", "CastLike"}
        whole = node.op in _WHOLE or (casts and node.attributes.get("to", _FLOAT) != _FLOAT)
        value = node.attributes.get("value", np.zeros(1, np.float32))
        made = node.op == "ConstantOfShape" and isinstance(value, np.ndarray) and value.dtype == np.float32
        from_floats = casts or made or any(name in self._floats for name in node.inputs)
        for place, name in _named(node):
            is_float = from_floats and not whole and (kind is self._wide or self._is_float(node, place))
            if is_float:
                self._floats.add(name)
            (kind if is_float else self._wide).add(name)

    def _as_narrow(self, name: str) -> Iterator[Node]:
        if name not in self._narrow:
            self._narrow.add(name)
            yield Node("Cast", (name,), (name + NARROW_SUFFIX,), {"to": self._number})

    def _as_wide(self, name: str) -> Iterator[Node]:
        if name in self._narrow and name not in self._wide:
            self._wide.add(name)
            yield Node("Cast", (name + NARROW_SUFFIX,), (name,), {"to": _FLOAT})


def _renamed(names: tuple[str, ...], narrow: set[str]) -> tuple[str, ...]:
    return tuple(name + NARROW_SUFFIX if name in narrow else name for name in names)


def _named(node: Node) -> list[tuple[int, str]]:
    """Return a node's outputs with their places."""
    return list(enumerate(node.outputs))

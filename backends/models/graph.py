"""A small writer of programs: names tensors, draws initial values, collects nodes."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np

from ..draws import uniform
from ..program import Input, Node, Program
from ..seeded_dropout import OPERATOR, STEP, attributes_of, is_step, step_input

if TYPE_CHECKING:
    from ..graph import Attribute


class Graph:
    """A program being written.

    Args:
        seed: Seed of the initial tensors; each tensor's stream depends on the seed and on its own name only.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._inputs: list[Input] = []
        self._nodes: list[Node] = []
        self._parameters: dict[str, np.ndarray] = {}
        self._constants: dict[str, np.ndarray] = {}
        self._state: dict[str, np.ndarray] = {}
        self._updates: dict[str, str] = {}

    def input(self, name: str, dtype: str, shape: tuple[int, ...]) -> str:
        """Declare a tensor that each batch holds."""
        self._inputs.append(Input(name, dtype, shape))
        return name

    def uniform(self, name: str, shape: tuple[int, ...], deviation: float) -> str:
        """Add a float32 parameter, uniform around 0 with that standard deviation."""
        key = int.from_bytes(hashlib.sha256(f"{self._seed}/{name}".encode()).digest()[:8], "little")
        bound = deviation * math.sqrt(3.0)
        drawn = (uniform(key, shape) * 2.0 - 1.0) * bound
        self._parameters[name] = drawn.astype(np.float32)
        return name

    def filled(self, name: str, shape: tuple[int, ...], value: float) -> str:
        """Add a float32 parameter with one value everywhere."""
        self._parameters[name] = np.full(shape, value, dtype=np.float32)
        return name

    def running(self, name: str, shape: tuple[int, ...], value: float) -> str:
        """Add a float32 tensor of the program's state, which `<name>.next` replaces after each step."""
        self._state[name] = np.full(shape, value, dtype=np.float32)
        self._updates[name] = f"{name}.next"
        return name

    def constant(self, name: str, value: np.ndarray) -> str:
        """Add a constant tensor."""
        self._constants[name] = value
        return name

    def integers(self, name: str, *values: int) -> str:
        """Add a one-dimensional int64 constant, such as a shape or axes."""
        return self.constant(name, np.array(values, dtype=np.int64))

    def add(self, op: str, inputs: tuple[str, ...], output: str, **attributes: Attribute) -> str:
        """Append an operator with one output, and return the output's name."""
        self.add_all(op, inputs, (output,), **attributes)
        return output

    def add_all(self, op: str, inputs: tuple[str, ...], outputs: tuple[str, ...], **attributes: Attribute) -> None:
        """Append an operator with any number of outputs."""
        self._nodes.append(Node(op, inputs, outputs, attributes))

    def dropout(self, source: str, name: str, ratio: float) -> str:
        """Add dropout of elements, and return its output's name; without a ratio the source stays as it is."""
        return self._drop(source, name, ratio, rows=False)

    def drop_rows(self, source: str, name: str, ratio: float) -> str:
        """Add dropout of whole samples, and return its output's name; without a ratio the source stays as it is."""
        return self._drop(source, name, ratio, rows=True)

    def _drop(self, source: str, name: str, ratio: float, *, rows: bool) -> str:
        if not ratio:
            return source
        if not any(map(is_step, self._inputs)):
            self._inputs.append(step_input())
        return self.add(OPERATOR, (source, STEP), name, **attributes_of(name, ratio, self._seed, rows=rows))

    def finish(self, name: str, loss: str, outputs: tuple[str, ...]) -> Program:
        """Return the program."""
        return Program(
            name=name,
            inputs=tuple(self._inputs),
            nodes=tuple(self._nodes),
            loss=loss,
            parameters=self._parameters,
            constants=self._constants,
            outputs=outputs,
            state=self._state,
            updates=self._updates,
        )

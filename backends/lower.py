"""Lowering: a program's nodes bound to a target's rules, ready to be called or traced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from .errors import StackproofError, UnsupportedError
from .graph import Body
from .registry import find
from .static import foldable_places, static_numbers, static_places
from .values import MOVING_OPERATORS, Narrow
from .widening import widened_node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .program import Node, Program
    from .registry import Rule

    After = Callable[[Node, str, Any], Any]
    Known = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One node bound to its rule.

    Attributes:
        node: The node.
        rule: What does it on the target.
        fixed: Static inputs that are known beforehand, by place.
        open: Places of static inputs that only a run knows.
        bodies: Bound nodes of each body by attribute name.
        wanted: Whether each output is named.
    """

    node: Node
    rule: Rule
    fixed: Mapping[int, tuple[Any, ...]]
    open: tuple[int, ...]
    bodies: Mapping[str, Sequence[Step]]
    wanted: tuple[bool, ...]


class Lowered:
    """A program's forward pass on one target.

    Args:
        program: What to compute.
        target: `torch`, `tensorflow` or `jax`; its rules must have been imported.
        precision: `float32`, or `float64`, in which conversions to float32 are to float64 as well, or `stated`, in
            which every dtype is kept.

    Raises:
        UnsupportedError: An operator has no rule on the target.
    """

    def __init__(self, program: Program, target: str, precision: str = "float32") -> None:
        self._target, self._precision = target, precision
        self._constants = program.constants
        self.steps = self._bound(program.nodes)

    def _bound(self, nodes: Sequence[Node]) -> list[Step]:
        return [self._bind(widened_node(node, self._precision)) for node in nodes]

    def _bind(self, node: Node) -> Step:
        places = static_places(node.op, node.inputs)
        known = {
            place: self._constants[node.inputs[place]]
            for place in (*places, *foldable_places(node.op, node.inputs))
            if node.inputs[place] in self._constants
        }
        return Step(
            node,
            find(node.op, self._target),
            {place: tuple(value.reshape(-1).tolist()) for place, value in known.items()},
            tuple(place for place in places if place not in known),
            {name: self._bound(body.nodes) for name, body in node.attributes.items() if isinstance(body, Body)},
            tuple(bool(name) for name in node.outputs),
        )

    def __call__(self, tensors: Mapping[str, Any], batch: Mapping[str, Any], after: After | None = None) -> Known:
        """Run the nodes.

        Args:
            tensors: The target's tensors of all parameters, constants and state, by name.
            batch: The target's tensors of the program's inputs, by name.
            after: Called with (node, output name, tensor) for each output; what it returns takes the tensor's place.

        Returns:
            Every named tensor of the graph; the loss is under `program.loss`.

        Raises:
            UnsupportedError: A rule refuses a node, or makes fewer outputs than the node names.
        """
        known: Known = {**tensors, **batch}
        self._run(self.steps, known, after)
        return known

    def _run(self, steps: Sequence[Step], known: Known, after: After | None) -> None:
        for step in steps:
            made = self._apply(step, known, after)
            for name, tensor in zip(step.node.outputs, made):
                if name:
                    known[name] = tensor if after is None else after(step.node, name, tensor)

    def _apply(self, step: Step, known: Known, after: After | None) -> Sequence[Any]:
        node = step.node
        fixed = step.fixed
        inputs = [
            fixed[place] if place in fixed else known[name] if name else None for place, name in enumerate(node.inputs)
        ]
        for place in step.open:
            inputs[place] = static_numbers(inputs[place], f"input {node.inputs[place]!r} of {node.op}")
        attributes: dict[str, Any] = {**node.attributes, "outputs": step.wanted}
        for name, steps in step.bodies.items():
            attributes[name] = self._callable(node.attributes[name], steps, known, after)
        try:
            made = carried(step.rule, node.op, inputs, attributes)
        except StackproofError as error:
            raise error.at(f"node that makes {', '.join(map(repr, filter(None, node.outputs)))}") from error
        tensors = made if isinstance(made, tuple) else (made,)
        if any(step.wanted[len(tensors) :]):
            raise UnsupportedError(
                f"{node.op} on {self._target} makes {len(tensors)} of its outputs; "
                f"{node.outputs[len(tensors)]!r} is one more"
            )
        return tensors

    def _callable(self, body: Any, steps: Sequence[Step], known: Known, after: After | None) -> Bound:
        """Return a body as a function of its inputs; it sees what is known outside."""

        def run(*tensors: Any) -> tuple[Any, ...]:
            inside = {**known, **dict(zip(body.inputs, tensors))}
            self._run(steps, inside, after)
            return tuple(inside[name] for name in body.outputs)

        return Bound(run, body, self._constants)


@dataclass(frozen=True)
class Bound:
    """A body bound to what it sees outside: a function of its inputs.

    Attributes:
        run: The function; it returns a tuple of tensors.
        body: The graph.
        constants: The program's constants by name.
    """

    run: Callable[..., tuple[Any, ...]]
    body: Body
    constants: Mapping[str, np.ndarray]

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        """Return the body's outputs for these inputs."""
        return self.run(*tensors)

    def goes_on(self) -> bool:
        """Say whether the body of a loop never ends it: its condition is the one it was given, or a true constant."""
        made = self.body.source(0)
        value = self.constants.get(made) if isinstance(made, str) else made
        return made == self.body.inputs[1] if value is None else bool(np.all(value))


def carried(rule: Rule, op: str, inputs: list[Any], attributes: Mapping[str, Any]) -> Any:
    """Apply a rule; operators that only move values get what carries narrow ones, and their output is as narrow."""
    kinds = {value.dtype for value in inputs if isinstance(value, Narrow)}
    if not kinds or op not in MOVING_OPERATORS:
        return rule(inputs, attributes)
    made = rule([value.values if isinstance(value, Narrow) else value for value in inputs], attributes)
    (kind,) = kinds
    return tuple(Narrow(value, kind) for value in made) if isinstance(made, tuple) else Narrow(made, kind)


def is_float(array: np.ndarray) -> bool:
    """Say whether an array holds floating-point numbers."""
    return bool(np.issubdtype(array.dtype, np.floating))


def widened(tensors: Mapping[str, np.ndarray], precision: str) -> dict[str, np.ndarray]:
    """Return tensors with the floating-point ones in a precision, `float32` or `float64`."""
    return {name: value.astype(precision) if is_float(value) else value for name, value in tensors.items()}

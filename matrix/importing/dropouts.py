"""Dropout of a model from a file, with masks that are the same on every framework and others at each step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ...backends.errors import Fault, InputError
from ...backends.graph import Body
from ...backends.program import Node
from ...backends.seeded_dropout import OPERATOR, STEP, attributes_of, step_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...backends.program import Program

_DROPOUT: Final = "Dropout"
# Places of a Dropout node's inputs, its ratio where it has none, and the number of its outputs with the mask.
_RATIO, _TRAINING = 1, 2
_USUAL: Final = 0.5
_WITH_MASK: Final = 2


def seed_dropouts(program: Program, seed: int, source: str) -> Program:
    """Return a program whose Dropout nodes in training mode are `SeededDropout` nodes.

    Args:
        program: A program with its loss.
        seed: The seed of the spec.
        source: What the user called the model.

    Raises:
        InputError: What a node drops is not known beforehand, its mask is used, or it stands in a loop.
    """
    seeding = _Seeding(program, seed)
    nodes = seeding.nodes(program.nodes)
    if seeding.changed and STEP in seeding.names:
        what = "is a name in the model already, and the count of steps that decides what dropout drops: rename it there"
        seeding.faults.append(Fault(STEP, what))
    if seeding.faults:
        raise InputError(source, seeding.faults)
    if not seeding.changed:
        return program
    return replace(program, nodes=nodes, inputs=(*program.inputs, step_input()))


class _Seeding:
    """Goes through the nodes; `faults` is what was in the way, `changed` whether a node was changed."""

    def __init__(self, program: Program, seed: int) -> None:
        self._constants, self._seed = program.constants, seed
        used = {program.loss, *program.outputs, *program.updates.values(), *_taken(program.nodes)}
        held = (program.constants, program.parameters, program.state)
        self.names = used | {name for tensors in held for name in tensors} | {e.name for e in program.inputs}
        self._used, self.faults, self.changed = used, list[Fault](), False

    def nodes(self, nodes: Iterable[Node], loop: str = "") -> tuple[Node, ...]:
        return tuple(self._node(node, loop) for node in nodes)

    def _node(self, node: Node, loop: str) -> Node:
        if node.op == _DROPOUT:
            return self._dropout(node, loop)
        if not any(isinstance(value, Body) for value in node.attributes.values()):
            return node
        inside = loop if node.op == "If" else node.op
        bodies = {
            key: replace(value, nodes=self.nodes(value.nodes, inside)) if isinstance(value, Body) else value
            for key, value in node.attributes.items()
        }
        return replace(node, attributes=bodies)

    def _dropout(self, node: Node, loop: str) -> Node:
        training, ratio = self._known(node, _TRAINING, 0.0), self._known(node, _RATIO, _USUAL)
        if training == 0 or ratio == 0:
            return node
        why = self._obstacle(node, training, ratio, loop)
        if why or ratio is None:
            self.faults.append(Fault(node.outputs[0], why))
            return node
        self.changed = True
        name = node.outputs[0]
        return Node(OPERATOR, (node.inputs[0], STEP), (name,), attributes_of(name, ratio, self._seed))

    def _obstacle(self, node: Node, training: float | None, ratio: float | None, loop: str) -> str:
        if training is None or ratio is None:
            what = "training mode" if training is None else "ratio"
            return f"the {what} of this Dropout is worked out in each step: make it a constant of the model"
        if not 0 < ratio < 1:
            return f"the ratio of this Dropout is {ratio:g}, and must be at least 0 and below 1"
        if len(node.outputs) == _WITH_MASK and node.outputs[1] in self._used:
            return f"the mask of this Dropout, {node.outputs[1]}, is used: export the model without using it"
        if loop:
            return f"this Dropout stands in a {loop}, and would drop the same in each round: export it unrolled"
        return ""

    def _known(self, node: Node, place: int, usual: float) -> float | None:
        """Return the number at a place among a node's inputs; None where it is not known beforehand."""
        name = node.inputs[place] if place < len(node.inputs) else ""
        if not name:
            return usual
        value = self._constants.get(name)
        return None if value is None else float(value.reshape(-1)[0])


def _taken(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield every name that nodes take or make, a second output of a Dropout left out."""
    for node in nodes:
        yield from filter(None, node.inputs)
        yield from (node.outputs[:1] if node.op == _DROPOUT else node.outputs)
        yield from (name for body in _bodies(node.attributes) for name in (*body.outputs, *_taken(body.nodes)))


def _bodies(attributes: Mapping[str, object]) -> Iterator[Body]:
    yield from (value for value in attributes.values() if isinstance(value, Body))

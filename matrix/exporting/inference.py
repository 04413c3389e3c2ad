"""A trained program as one that infers: no loss, running statistics in their place, nothing dropped."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.errors import Fault, InputError, did_you_mean
from ...backends.graph import Body
from ...backends.seeded_dropout import OPERATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...backends.program import Node, Program

_TRAINING_FLAG = 2
# The place of the running mean among a batch norm's inputs; the variance is the next.
_MEAN = 3
_UNKNOWN = (
    "this state is updated by operators other than BatchNormalization, so the graph only says how the model trains, "
    "not how it infers: export the weights with --safetensors, and load them in the framework that the model comes from"
)


def as_inference(program: Program, outputs: Sequence[str] = ()) -> Program:
    """Return a program that makes outputs from inputs as the trained model is used.

    Args:
        program: A program with trained parameters and state.
        outputs: What it is to make; the program's own outputs if not given.

    Returns:
        A program without loss and updates: batch norms normalise by the running statistics, dropout passes its input
        on, and what the outputs do not need is left out. Weights trained in float64 are float32.

    Raises:
        InputError: An output is none of the program's tensors, or there is none at all; or its state is updated by
            more than batch norms, so that what the model does when it infers is not known.
    """
    _check_updates(program)
    changed = _Inferring()
    every = [changed.node(node) for node in program.nodes]
    made = {name for node in every for name in node.outputs}
    faults = [
        Fault(name, f"is no tensor of the program; {did_you_mean(name, made)}") for name in outputs if name not in made
    ]
    wanted = tuple(outputs) or program.outputs
    if not wanted:
        faults.append(Fault("", "has no output but its loss: name one with --output"))
    if faults:
        raise InputError(program.name, faults)
    nodes = tuple(_needed(every, wanted))
    used = {name for node in nodes for name in _taken(node)} | set(wanted)
    trained = {**program.state, **program.parameters}
    held = {**program.constants, **{name: _narrowed(value) for name, value in trained.items()}}
    return replace(
        program,
        inputs=tuple(entry for entry in program.inputs if entry.name in used),
        nodes=nodes,
        loss="",
        parameters={},
        constants={name: value for name, value in held.items() if name in used},
        outputs=wanted,
        state={},
        updates={},
        narrow={name: dtype for name, dtype in program.narrow.items() if name in used},
    )


@dataclass
class _Inferring:
    """Nodes as they infer; `back` leads from running statistics after a step to those before it."""

    back: dict[str, str] = field(default_factory=dict)

    def node(self, node: Node) -> Node:
        inner = {name: self.body(value) for name, value in node.attributes.items() if isinstance(value, Body)}
        inputs = tuple(self.back.get(name, name) for name in node.inputs)
        node = replace(node, inputs=inputs, attributes={**node.attributes, **inner})
        if node.op == "BatchNormalization" and node.attributes.get("training_mode", 0):
            return self.norm(node)
        if node.op == OPERATOR:
            return replace(node, op="Identity", inputs=node.inputs[:1], attributes={})
        if node.op == "Dropout":
            return replace(node, inputs=node.inputs[:_TRAINING_FLAG])
        return node

    def norm(self, node: Node) -> Node:
        self.back.update(zip(node.outputs[1:], node.inputs[_MEAN:], strict=False))
        kept = {name: value for name, value in node.attributes.items() if name != "training_mode"}
        return replace(node, outputs=node.outputs[:1], attributes=kept)

    def body(self, body: Body) -> Body:
        nodes = tuple(self.node(node) for node in body.nodes)
        return replace(body, nodes=nodes, outputs=tuple(self.back.get(name, name) for name in body.outputs))


def _check_updates(program: Program) -> None:
    """Refuse state that is updated otherwise than by batch norms.

    Where a framework writes a batch norm as small operators, the graph is the one that trains, and it does not say how
    the running statistics are used.
    """
    made = {name: node for node in program.nodes for name in node.outputs if name}
    faults = [
        Fault(name, _UNKNOWN) for name, update in program.updates.items() if not _is_statistic(name, update, made)
    ]
    if faults:
        raise InputError(program.name, faults)


def _is_statistic(name: str, update: str, made: Mapping[str, Node]) -> bool:
    """Tell whether state stays as it is, or is replaced by what a batch norm makes of it."""
    while update in made:
        node = made[update]
        if node.op == "BatchNormalization" and update in node.outputs[1:]:
            update = node.inputs[_MEAN + node.outputs[1:].index(update)]
        elif node.op == "Identity":
            update = node.inputs[0]
        else:
            return False
    return update == name


def _needed(nodes: list[Node], wanted: Iterable[str]) -> Iterator[Node]:
    """Yield the nodes that make what is wanted, in order."""
    needed, kept = set(wanted), []
    for node in reversed(nodes):
        if needed.intersection(node.outputs):
            kept.append(node)
            needed.update(_taken(node))
    yield from reversed(kept)


def _taken(node: Node) -> Iterator[str]:
    """Yield what a node takes, and what the bodies in it do."""
    yield from filter(None, node.inputs)
    for value in node.attributes.values():
        if isinstance(value, Body):
            yield from value.outputs
            for inner in value.nodes:
                yield from _taken(inner)


def _narrowed(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return value.astype(np.float32) if value.dtype == np.float64 else value

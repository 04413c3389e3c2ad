"""A trained program as one that infers: no loss, running statistics in their place, nothing dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.errors import Fault, InputError, did_you_mean
from ...backends.graph import Body
from ...backends.seeded_dropout import OPERATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...backends.program import Node, Program

_TRAINING_FLAG = 2


def as_inference(program: Program, outputs: Sequence[str] = ()) -> Program:
    """Return a program that makes outputs from inputs as the trained model is used.

    Args:
        program: A program with trained parameters and state.
        outputs: What it is to make; the program's own outputs if not given.

    Returns:
        A program without loss and updates: batch norms normalise by the running statistics, dropout passes its input
        on, and what the outputs do not need is left out. Weights trained in float64 are float32.

    Raises:
        InputError: An output is none of the program's tensors, or there is none at all.
    """
    made = {name for node in program.nodes for name in node.outputs}
    faults = [
        Fault(name, f"is no tensor of the program; {did_you_mean(name, made)}") for name in outputs if name not in made
    ]
    wanted = tuple(outputs) or program.outputs
    if not wanted:
        faults.append(Fault("", "has no output but its loss: name one with --output"))
    if faults:
        raise InputError(program.name, faults)
    nodes = tuple(_needed([_inferring(node) for node in program.nodes], wanted))
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


def _inferring(node: Node) -> Node:
    if node.op == "BatchNormalization" and node.attributes.get("training_mode", 0):
        kept = {name: value for name, value in node.attributes.items() if name != "training_mode"}
        return replace(node, outputs=node.outputs[:1], attributes=kept)
    if node.op == OPERATOR:
        return replace(node, op="Identity", inputs=node.inputs[:1], attributes={})
    if node.op == "Dropout":
        return replace(node, inputs=node.inputs[:_TRAINING_FLAG])
    return node


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

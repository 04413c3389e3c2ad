"""A model's program with a loss behind one of its outputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ...backends.errors import Fault, InputError, did_you_mean
from ...backends.program import Input, Node

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...backends.program import Program

CROSS_ENTROPY: Final = "cross-entropy"
MEAN_SQUARED_ERROR: Final = "mean-squared-error"
OWN: Final = "own"
LOSSES: Final = (CROSS_ENTROPY, MEAN_SQUARED_ERROR, OWN)
# Axes of scores, and of those of sequences.
_SCORES: Final = 2
_SEQUENCES: Final = 3


@dataclass(frozen=True)
class Goal:
    """What is minimised.

    Attributes:
        loss: One of `LOSSES`.
        output: The output that it is of.
        shape: That output's shape.
    """

    loss: str
    output: str
    shape: tuple[int, ...]


def choose_output(names: Sequence[str], wanted: str, source: str) -> str:
    """Return the output that the loss is of: the one named, or the only one.

    Raises:
        InputError: There is no such output, or there are several and none is named.
    """
    if wanted and wanted not in names:
        raise InputError(source, [Fault(wanted, f"is no output of the model; {did_you_mean(wanted, names)}")])
    if not wanted and len(names) != 1:
        what = f"has {len(names)} outputs, and the loss is of one: name it with output, one of {', '.join(names)}"
        raise InputError(source, [Fault("", what)])
    return wanted or names[0]


def add_loss(program: Program, goal: Goal, source: str) -> Program:
    """Return a program that minimises the loss.

    Cross-entropy takes scores of shape (batch, classes), (batch, positions, classes) or (batch, classes, height, ...)
    and gets an input `labels`, int64 of that shape without the classes; mean-squared-error gets an input `targets` of
    the output's shape. A loss of the model's own is a scalar already.

    Raises:
        InputError: The output's shape does not fit the loss, or an input has the name already.
    """
    if goal.loss == OWN:
        if goal.shape not in {(), (1,)}:
            what = (
                f"has the shape {list(goal.shape)}, and a loss is one number: name an output of the model that is one"
            )
            raise InputError(source, [Fault(goal.output, what)])
        return _with(program, _own(goal), loss="loss" if goal.shape else goal.output)
    build = _cross_entropy if goal.loss == CROSS_ENTROPY else _squared_error
    held = {entry.name for entry in program.inputs} | {name for node in program.nodes for name in node.outputs}
    for name in ("labels", "targets", "loss"):
        if name in held:
            what = f"is a name in the model already; rename it there, or name the model's own loss with loss = {OWN!r}"
            raise InputError(source, [Fault(name, what)])
    return build(program, goal, source)


def _own(goal: Goal) -> tuple[Node, ...]:
    return (Node("ReduceSum", (goal.output,), ("loss",), {"keepdims": 0}),) if goal.shape else ()


def _cross_entropy(program: Program, goal: Goal, source: str) -> Program:
    shape = goal.shape
    if len(shape) < _SCORES:
        what = f"has the shape {list(shape)}, and cross-entropy needs scores of shape (batch, classes)"
        raise InputError(source, [Fault(goal.output, f'{what}: set train.loss = "{MEAN_SQUARED_ERROR}"')])
    if len(shape) != _SEQUENCES:
        labels = Input("labels", "int64", (shape[0], *shape[2:]), bound=shape[1])
        nodes = [Node("SoftmaxCrossEntropyLoss", (goal.output, "labels"), ("loss",), {"reduction": "mean"})]
        return _with(program, tuple(nodes), inputs=(labels,))
    labels = Input("labels", "int64", shape[:2], bound=shape[2])
    constants = {"loss.scores": np.array([-1, shape[2]]), "loss.flat": np.array([-1])}
    nodes = [
        Node("Reshape", (goal.output, "loss.scores"), ("loss.each_score",)),
        Node("Reshape", ("labels", "loss.flat"), ("loss.each_label",)),
        Node("SoftmaxCrossEntropyLoss", ("loss.each_score", "loss.each_label"), ("loss",), {"reduction": "mean"}),
    ]
    return _with(program, tuple(nodes), inputs=(labels,), constants=constants)


def _squared_error(program: Program, goal: Goal, _source: str) -> Program:
    nodes = (
        Node("Sub", (goal.output, "targets"), ("loss.error",)),
        Node("Mul", ("loss.error", "loss.error"), ("loss.squared",)),
        Node("ReduceMean", ("loss.squared",), ("loss",), {"keepdims": 0}),
    )
    return _with(program, nodes, inputs=(Input("targets", "float32", goal.shape),))


def _with(
    program: Program,
    nodes: tuple[Node, ...],
    inputs: tuple[Input, ...] = (),
    constants: Mapping[str, np.ndarray] | None = None,
    loss: str = "loss",
) -> Program:
    return replace(
        program,
        inputs=(*program.inputs, *inputs),
        nodes=(*program.nodes, *nodes),
        constants={**program.constants, **(constants or {})},
        loss=loss,
    )

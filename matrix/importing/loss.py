"""A model's program with a loss behind one of its outputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ...backends.errors import Fault, InputError, did_you_mean
from ...backends.loss_rules import check_weights
from ...backends.models.graph import Graph
from ...backends.models.losses import LABELS, TARGETS, add_cross_entropy, from_targets
from ...backends.recipe import Train
from ...backends.targets import class_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...backends.program import Program

CROSS_ENTROPY: Final = "cross-entropy"
MEAN_SQUARED_ERROR: Final = "mean-squared-error"
KL_DIVERGENCE: Final = "kl-divergence"
OWN: Final = "own"
LOSSES: Final = (CROSS_ENTROPY, MEAN_SQUARED_ERROR, "huber", "binary-cross-entropy", KL_DIVERGENCE, OWN)
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
        numbers: What the loss takes of a spec's table `[train]`.
    """

    loss: str
    output: str
    shape: tuple[int, ...]
    numbers: Train = field(default_factory=Train)


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
    and gets an input `labels`, int64 of that shape without the classes; the others get an input `targets` of the
    output's shape. A loss of the model's own is a scalar already.

    Raises:
        InputError: The output's shape does not fit the loss or its class weights, or a name is taken already.
    """
    if goal.loss != OWN:
        _check_shape(goal, source)
        return _with(program, _part(goal), goal, source)
    if goal.shape not in {(), (1,)}:
        what = f"has the shape {list(goal.shape)}, and a loss is one number: name an output of the model that is one"
        raise InputError(source, [Fault(goal.output, what)])
    if not goal.shape:
        return replace(program, loss=goal.output)
    graph = Graph(seed=0)
    graph.add("ReduceSum", (goal.output,), "loss", keepdims=0)
    return replace(program, nodes=(*program.nodes, *graph.finish("", "loss", ()).nodes), loss="loss")


def _check_shape(goal: Goal, source: str) -> None:
    """Refuse an output without the classes that the loss needs, or with others than the weights are for."""
    if goal.loss not in {CROSS_ENTROPY, KL_DIVERGENCE}:
        return
    shape = goal.shape
    if len(shape) < _SCORES:
        what = f"has the shape {list(shape)}, and {goal.loss} needs scores of shape (batch, classes)"
        raise InputError(source, [Fault(goal.output, f'{what}: set train.loss = "{MEAN_SQUARED_ERROR}"')])
    classes = shape[class_axis(len(shape))]
    if goal.loss == KL_DIVERGENCE and classes == 1:
        what = f"has the shape {list(shape)}, which is of one class, and {goal.loss} compares several"
        raise InputError(source, [Fault(goal.output, f'{what}: set train.loss = "binary-cross-entropy"')])
    fault = check_weights(goal.numbers, classes)
    if goal.loss == CROSS_ENTROPY and fault is not None:
        where = "train.class_weights" + "".join(f"[{step}]" for step in fault[0][1:])
        raise InputError(source, [Fault(where, fault[1])])


def _part(goal: Goal) -> Program:
    """Return the loss alone, as a program."""
    graph = Graph(seed=0)
    if goal.loss == CROSS_ENTROPY:
        return graph.finish("", _cross_entropy(graph, goal), ())
    targets = graph.input(TARGETS, "float32", goal.shape)
    if goal.loss != MEAN_SQUARED_ERROR:
        train = replace(goal.numbers, loss=goal.loss)
        return graph.finish("", from_targets(graph, train, (goal.output, targets), len(goal.shape)), ())
    error = graph.add("Sub", (goal.output, targets), "loss.error")
    squared = graph.add("Mul", (error, error), "loss.squared")
    return graph.finish("", graph.add("ReduceMean", (squared,), "loss", keepdims=0), ())


def _cross_entropy(graph: Graph, goal: Goal) -> str:
    shape = goal.shape
    if len(shape) != _SEQUENCES:
        labels = graph.input(LABELS, "int64", (shape[0], *shape[2:]))
        return add_cross_entropy(graph, goal.numbers, (goal.output, labels), shape)
    labels = graph.input(LABELS, "int64", shape[:2])
    scores = graph.add("Reshape", (goal.output, graph.integers("loss.scores", -1, shape[2])), "loss.each_score")
    flat = graph.add("Reshape", (labels, graph.integers("loss.flat", -1)), "loss.each_label")
    return add_cross_entropy(graph, goal.numbers, (scores, flat), (-1, shape[2]))


def _with(program: Program, part: Program, goal: Goal, source: str) -> Program:
    held = {entry.name for entry in program.inputs} | {name for node in program.nodes for name in node.outputs}
    held.update(program.parameters, program.constants, program.state)
    made = [name for node in part.nodes for name in node.outputs]
    for name in (LABELS, TARGETS, *part.constants, *made):
        if name in held:
            what = f"is a name in the model already; rename it there, or name the model's own loss with loss = {OWN!r}"
            raise InputError(source, [Fault(name, what)])
    bound = goal.shape[class_axis(len(goal.shape))] if goal.loss == CROSS_ENTROPY else 0
    return replace(
        program,
        inputs=(*program.inputs, *(replace(entry, bound=bound) for entry in part.inputs)),
        nodes=(*program.nodes, *part.nodes),
        constants={**program.constants, **part.constants},
        loss=part.loss,
    )

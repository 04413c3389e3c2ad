"""A model's program with a loss behind one of its outputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Final

from ...backends.errors import Fault, InputError, did_you_mean
from ...backends.graph import Body
from ...backends.loss_rules import check_weights
from ...backends.models.graph import Graph
from ...backends.models.losses import LABELS, TARGETS, add_cross_entropy, from_targets
from ...backends.recipe import Train
from ...backends.targets import class_axis

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from ...backends.graph import Node
    from ...backends.program import Program

CROSS_ENTROPY: Final = "cross-entropy"
MEAN_SQUARED_ERROR: Final = "mean-squared-error"
KL_DIVERGENCE: Final = "kl-divergence"
OWN: Final = "own"
LOSSES: Final = (CROSS_ENTROPY, MEAN_SQUARED_ERROR, "huber", "binary-cross-entropy", KL_DIVERGENCE, OWN)
# Axes of scores, and of those of sequences.
_SCORES: Final = 2
_SEQUENCES: Final = 3
_PREFIX: Final = "loss"
_ASK: Final = 'say which with train = ["*.weight"] under [model], or --train "*.weight"'


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
        InputError: Nothing is trained, the output's shape does not fit the loss or its class weights, or a tensor of
            the model has the name of the loss's input.
    """
    if not program.parameters:
        raise InputError(source, [Fault("", f"has no parameter that is trained: {_ASK}")])
    if goal.loss != OWN:
        _check_shape(goal, source)
        return _with(program, _part(goal), goal, source)
    if goal.shape not in {(), (1,)}:
        what = f"has the shape {list(goal.shape)}, and a loss is one number: name an output of the model that is one"
        raise InputError(source, [Fault(goal.output, what)])
    if not goal.shape:
        return replace(program, loss=goal.output)
    graph = Graph(seed=0)
    loss = _free_prefix([""], _names(program))
    graph.add("ReduceSum", (goal.output,), loss, keepdims=0)
    return replace(program, nodes=(*program.nodes, *graph.finish("", loss, ()).nodes), loss=loss)


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
    held = _names(program)
    for name in (LABELS, TARGETS):
        if name in held:
            what = (
                "is the name of the loss's own input, and a tensor of the model has it: rename the tensor in the file"
            )
            raise InputError(source, [Fault(name, f"{what}, or name the model's own loss with loss = {OWN!r}")])
    part = _renamed(part, held)
    bound = goal.shape[class_axis(len(goal.shape))] if goal.loss == CROSS_ENTROPY else 0
    return replace(
        program,
        inputs=(*program.inputs, *(replace(entry, bound=bound) for entry in part.inputs)),
        nodes=(*program.nodes, *part.nodes),
        constants={**program.constants, **part.constants},
        loss=part.loss,
    )


def _renamed(part: Program, held: Collection[str]) -> Program:
    """Return a loss whose own tensors have names that the model has not."""
    own = [*part.constants, *(name for node in part.nodes for name in node.outputs)]
    prefix = _free_prefix([name.removeprefix(_PREFIX) for name in own], held)
    names = {name: prefix + name.removeprefix(_PREFIX) for name in own}
    nodes = (
        replace(node, inputs=_mapped(node.inputs, names), outputs=_mapped(node.outputs, names)) for node in part.nodes
    )
    constants = {names[name]: value for name, value in part.constants.items()}
    return replace(part, nodes=tuple(nodes), constants=constants, loss=names[part.loss])


def _mapped(given: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(names.get(name, name) for name in given)


def _free_prefix(ends: Collection[str], held: Collection[str]) -> str:
    """Return `loss`, or `loss_2` and so on where a tensor of the model has one of the names that begin so."""
    tried = (f"{_PREFIX}_{number}" if number > 1 else _PREFIX for number in count(1))
    return next(prefix for prefix in tried if not any(prefix + end in held for end in ends))


def _names(program: Program) -> set[str]:
    """Return the names of all tensors of a program, of those in bodies too."""
    held = {*program.parameters, *program.constants, *program.state, *_of_nodes(program.nodes)}
    return held | {entry.name for entry in program.inputs}


def _of_nodes(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        yield from node.outputs
        for body in [value for value in node.attributes.values() if isinstance(value, Body)]:
            yield from body.inputs
            yield from _of_nodes(body.nodes)

"""From an ONNX file to a program that trains: the whole way, step by step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from onnx import helper

from ...backends.errors import Fault, InputError
from ...backends.recipe import Train
from ..bringing.modes import BATCH_NORM, DROPOUT, train_batch_norms, train_dropouts
from ..bringing.trap import refuse
from ..bringing.traps import convention_of, find_traps, mend
from .aside import bring_back, put_aside
from .bounds import with_bounds
from .checking import ONNX_DOMAINS, check_by_onnx, check_structure, check_tensors, label, opset_of, same_opset
from .convert import to_program
from .declared import settle
from .dropouts import seed_dropouts
from .finite import check_finite, check_trained
from .folding import fold, shapes_of, weights_first
from .inlining import all_nodes, open_functions, open_operators
from .limits import check_calls
from .loading import load_model
from .loss import Goal, add_loss, choose_output
from .resizes import check_resizes
from .roles import Roles, decide
from .sizes import fix_sizes, infer
from .supported import TARGETS, targets_of
from .upgrading import upgrade
from .widening import widen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from onnx import ModelProto

    from ...backends.program import Program
    from ..bringing.trap import Trap

_MODES: Final = {"BatchNormalization": train_batch_norms, "Dropout": train_dropouts}
_SETTLED: Final = frozenset({BATCH_NORM, DROPOUT})
_OTHER_DOMAINS: Final = frozenset({"ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"})


@dataclass(frozen=True)
class Wishes:
    """What the user says of a model.

    Attributes:
        shapes: Sizes of inputs, by name.
        batch: What an open first size is; 0 where it is not known.
        bounds: What integers of an input are drawn below, by name.
        loss: One of `loss.LOSSES`; empty for a program that is only evaluated.
        numbers: What the loss and dropout take of a spec's table `[train]`.
        output: The output that the loss is of; empty for the only one.
        train: Patterns of initializers that are trained in any case.
        freeze: Patterns of initializers that are not trained in any case.
        training: Whether batch norms and dropout work as they do in training, whatever the file says.
        targets: The frameworks that are to run it.
        allow_not_finite: Whether weights may hold NaN and infinity.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    batch: int = 0
    bounds: Mapping[str, int] = field(default_factory=dict)
    loss: str = ""
    numbers: Train = field(default_factory=Train)
    output: str = ""
    train: tuple[str, ...] = ()
    freeze: tuple[str, ...] = ()
    training: bool = False
    targets: tuple[str, ...] = TARGETS
    allow_not_finite: bool = False


@dataclass(frozen=True)
class Imported:
    """A program, and how it was made.

    Attributes:
        program: The program.
        opset: The operator set of the file.
        upgraded: Operators that were rewritten from an older form.
        opened: Operators that were replaced by what ONNX defines them as.
        folded: Number of nodes that are gone.
        widened: Types that became float32.
        roles: What became of initial tensors.
        traps: What was found, mended or noted.
        operators: Number of nodes of each operator.
    """

    program: Program
    opset: int
    upgraded: tuple[str, ...]
    opened: tuple[str, ...]
    folded: int
    widened: tuple[str, ...]
    roles: Roles
    traps: tuple[Trap, ...]
    operators: Mapping[str, int]


def import_model(path: Path, wishes: Wishes | None = None) -> Imported:
    """Make a program of an ONNX file.

    Args:
        path: The file.
        wishes: What the user says of it.

    Raises:
        InputError: The file is no sound model, or cannot be trained as it is; every fault names its place.
    """
    return import_proto(load_model(path), str(path), wishes or Wishes(), name=path.stem)


def import_proto(model: ModelProto, source: str, wishes: Wishes, name: str) -> Imported:
    """Make a program of a model with all of its tensors.

    Args:
        model: The model; it is changed.
        source: What the user called it.
        wishes: What the user says of it.
        name: The program's name.

    Raises:
        InputError: As for `import_model`.
    """
    _drop_defaults(model)
    notes = settle(model, source, wishes.shapes)
    check_tensors(model, source)
    if not wishes.allow_not_finite:
        check_finite(model, source)
    opset = opset_of(model)
    model, upgraded = _upgraded(model, source)
    model, traps = _mended(model, source, training=wishes.training)
    goal = _goal(model, source, wishes)
    roles = decide(model, source, goal, wishes.train, wishes.freeze)
    convention = convention_of(model)
    if not wishes.allow_not_finite:
        check_trained(model, source, {*roles.trained, *roles.updates})
    _keep_outputs(model, [*goal, *roles.updates.values()])
    aside = put_aside(model)
    widened = widen(model, aside.values()) if wishes.loss else []
    fix_sizes(model, source, wishes.shapes, wishes.batch, aside)
    model, opened = open_operators(infer(model, source), wishes.targets)
    model, folded = fold(model, source, {*roles.trained, *roles.updates, *aside})
    _check_operators(model, source)
    shapes = shapes_of(model)
    check_resizes(model, source, shapes)
    inputs = with_bounds(model, source, wishes.bounds)
    program = replace(to_program(model, roles, goal, aside), name=name, convention=convention)
    program = replace(program, inputs=tuple(replace(e, bound=inputs.get(e.name, 0)) for e in program.inputs))
    if wishes.loss:
        program = add_loss(
            program, Goal(wishes.loss, goal[0], _shape_of(goal[0], shapes, source), wishes.numbers), source
        )
        program = seed_dropouts(program, wishes.numbers.seed, source)
    counts = Counter(node.op_type for node in all_nodes(model.graph))
    return Imported(
        program, opset, tuple(upgraded), tuple(opened), folded, tuple(widened), roles, (*notes, *traps), counts
    )


def _drop_defaults(model: ModelProto) -> None:
    """Take initializers out of the inputs, where old files list them."""
    initial = {tensor.name for tensor in model.graph.initializer}
    kept = [entry for entry in model.graph.input if entry.name not in initial]
    del model.graph.input[:]
    model.graph.input.extend(kept)


def _upgraded(model: ModelProto, source: str) -> tuple[ModelProto, list[str]]:
    """Return a model of the newest operator set without functions of its own."""
    aside = put_aside(model)
    check_calls(model, source)
    check_structure(model, source)
    first = same_opset(model)
    if first:
        model = open_functions(model, source)
    model, upgraded = upgrade(model, source)
    if not first:
        model = open_functions(model, source)
    check_by_onnx(model, source)
    weights_first(model.graph)
    bring_back(model, aside)
    return model, upgraded


def _mended(model: ModelProto, source: str, *, training: bool) -> tuple[ModelProto, list[Trap]]:
    traps = find_traps(model)
    refuse(source, traps)
    model = mend(model, traps)
    if training:
        firsts = {op: [n.output[0] for n in model.graph.node if n.op_type == op] for op in _MODES}
        for op, change in _MODES.items():
            change(model, firsts[op])
    return model, [trap for trap in traps if not (training and trap.severity == "noted" and trap.name in _SETTLED)]


def _goal(model: ModelProto, source: str, wishes: Wishes) -> list[str]:
    """Return the outputs that count: the one that the loss is of, or all where there is none."""
    names = [entry.name for entry in model.graph.output]
    return [choose_output(names, wishes.output, source)] if wishes.loss else names


def _keep_outputs(model: ModelProto, names: list[str]) -> None:
    """Make these the outputs of a model; what only other outputs need is dropped later."""
    known = {entry.name: entry for entry in model.graph.output}
    kept = [known.get(name) or helper.make_empty_tensor_value_info(name) for name in dict.fromkeys(names)]
    del model.graph.output[:]
    model.graph.output.extend(kept)


def _shape_of(name: str, shapes: Mapping[str, tuple[int, ...]], source: str) -> tuple[int, ...]:
    if name not in shapes:
        what = "its shape is not known before the model runs, as behind a Loop or NonZero, and a loss needs it"
        raise InputError(source, [Fault(name, f"{what}: take another output (output), or export the model otherwise")])
    return shapes[name]


def _check_operators(model: ModelProto, source: str) -> None:
    """Refuse operators that no framework has a rule for.

    Raises:
        InputError: Naming each such node.
    """
    faults = []
    for node in all_nodes(model.graph):
        if node.domain in ONNX_DOMAINS | _OTHER_DOMAINS and targets_of(node.op_type):
            continue
        origin = f" of {node.domain}" if node.domain else ""
        what = f"operator {node.op_type}{origin} has no rule; frameworks that have one: none"
        faults.append(Fault(label(node), f"{what}. Export the model without it, or as operators of ONNX"))
    if faults:
        raise InputError(source, faults)

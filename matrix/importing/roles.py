"""Which initial tensors of a model are trained, which stay as they are, and which each step replaces.

Where the model's origin is known (a file of stackproof's own export, or of PyTorch's exporter), it says what is a
parameter. Elsewhere a floating-point initializer is trained

* if it is used as a matrix, a kernel or a table, seen through nodes that only move values;
* if it is the scale or bias of a layer, and not a literal: a name that exporters invent (`val_3`, `onnx::Add_12`), and
  one value everywhere; or
* if it is added to or multiplied with something, has at least one axis, a name that no exporter invented, and not the
  values of a mask.

And only if a gradient reaches it from an output that counts. Everything else is frozen: running statistics of a batch
norm that infers, literals, tables of numbers, masks. Patterns of names overrule all of this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import numpy_helper

from ...backends.errors import Fault, InputError
from ..bringing.graph import SCALES, WEIGHTS, Use, View, attribute, fills, is_lost
from ..bringing.traps import known_origin, trainable
from .checking import bodies
from .tensors import FLOATS, type_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnx import ModelProto, NodeProto, TensorProto

_STATISTICS: Final = (3, 4)
_MOVES: Final = frozenset({"Transpose", "Reshape", "Identity", "Cast", "Squeeze", "Unsqueeze", "Flatten", "Expand"})
_OPEN: Final = frozenset({"Add", "Mul"})
# Nodes through which no gradient goes back.
_CUTS: Final = frozenset(
    {
        *(
            "Shape",
            "Size",
            "ArgMax",
            "ArgMin",
            "Equal",
            "Greater",
            "GreaterOrEqual",
            "Less",
            "LessOrEqual",
            "Not",
            "And",
        ),
        *("Or", "Xor", "NonZero", "IsNaN", "IsInf", "Sign", "Floor", "Ceil", "Round", "EyeLike", "ConstantOfShape"),
        *(
            "QuantizeLinear",
            "DynamicQuantizeLinear",
            "Bernoulli",
            "Multinomial",
            "RandomNormalLike",
            "NonMaxSuppression",
        ),
    }
)
_MASKED: Final = -1e4
# What PyTorch's older exporter calls literals.
_CONSTANT: Final = re.compile(r".*Constant(_\d+)?_output_\d+")


@dataclass(frozen=True)
class Roles:
    """What becomes of a model's initial tensors.

    Attributes:
        trained: Names of the parameters, in the model's order.
        frozen: Names of floating-point tensors that are used as a weight and not trained.
        updates: For each tensor that a step replaces the name of what replaces it.
        why: How it was decided, for the reader.
    """

    trained: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    updates: dict[str, str] = field(default_factory=dict)
    why: str = ""


def decide(
    model: ModelProto, source: str, outputs: Sequence[str], train: Sequence[str] = (), freeze: Sequence[str] = ()
) -> Roles:
    """Decide the role of each initializer.

    Args:
        model: A mended model with all of its tensors; batch norms that train get outputs for their new statistics.
        source: What the user called it.
        outputs: The outputs that count.
        train: Patterns of names that are trained in any case, such as `head.*`.
        freeze: Patterns of names that are not trained in any case.

    Raises:
        InputError: A pattern fits no initializer, or one that cannot be trained, or both lists fit the same.
    """
    updates = _updates(model)
    view = View(model)
    reached, known = _reached(model, outputs), trainable(model)
    chosen = set(known) if known is not None else {name for name in view.tensors if _is_parameter(view, name)}
    chosen = {name for name in chosen if view.tensors[name].data_type in FLOATS and name not in updates}
    chosen &= reached
    _check(view, source, train, freeze)
    chosen |= {name for name in view.tensors if _fits(name, train)}
    chosen -= {name for name in view.tensors if _fits(name, freeze)}
    weights = {n for n, t in view.tensors.items() if t.data_type in FLOATS and any(_uses(view, n))}
    why = "as its origin says" if known is not None else "by name and use"
    return Roles(
        tuple(name for name in view.tensors if name in chosen),
        tuple(name for name in view.tensors if name in weights and name not in chosen and name not in updates),
        updates,
        why,
    )


def _is_parameter(view: View, name: str) -> bool:
    tensor = view.tensors[name]
    if tensor.data_type not in FLOATS:
        return False
    uses = list(_uses(view, name))
    invented = is_lost(name) or _CONSTANT.fullmatch(name) is not None
    if any(fills(use, WEIGHTS) for use in uses):
        return True
    if any(use.node.op_type not in _OPEN for use in uses):
        return not (invented and view.is_constant(name))
    return bool(uses) and bool(tensor.dims) and not invented and not _is_mask(tensor)


def _uses(view: View, name: str) -> Iterator[Use]:
    """Yield where a tensor is used as a weight, a scale or a bias."""
    for use in _follow_moves(view, name):
        op = use.node.op_type
        statistic = op == "BatchNormalization" and use.position in _STATISTICS
        if use.position in (*WEIGHTS.get(op, ()), *SCALES.get(op, ())) and not statistic:
            yield use


def _follow_moves(view: View, name: str) -> Iterator[Use]:
    """Yield where a tensor goes in, through nodes that only move values or repeat them."""
    for use in view.direct.get(name, ()):
        if use.node.op_type in _MOVES and use.position == 0:
            yield from _follow_moves(view, use.node.output[0])
        else:
            yield use


def _is_mask(tensor: TensorProto) -> bool:
    values = numpy_helper.to_array(tensor).astype(np.float64)
    return bool(values.size) and bool((values <= _MASKED).any()) and bool((values[values > _MASKED] == 0).all())


def _updates(model: ModelProto) -> dict[str, str]:
    """Return what replaces the running statistics; a batch norm used twice goes on from what it gave the first time."""
    initial = {tensor.name for tensor in model.graph.initializer}
    origin = known_origin(model)
    found = {name: made for name, made in (origin.updates.items() if origin else ()) if name in initial}
    made: set[str] = set()
    for node in model.graph.node:
        if node.op_type == "BatchNormalization" and attribute(node, "training_mode", 0):
            _follow(node, initial, found, made)
        made.update(node.output)
    return found


def _follow(node: NodeProto, initial: set[str], found: dict[str, str], made: set[str]) -> None:
    for place, statistic in enumerate(_STATISTICS, 1):
        name = node.input[statistic]
        if name not in initial:
            continue
        while len(node.output) <= place:
            node.output.append("")
        if not node.output[place] or node.output[place] in made:
            node.output[place] = f"{node.output[0]}.{name}.next"
        node.input[statistic] = found.get(name, name)
        found[name] = node.output[place]


def _reached(model: ModelProto, outputs: Sequence[str]) -> set[str]:
    """Return the tensors that a gradient reaches from outputs."""
    reached = set(outputs)
    for node in reversed(model.graph.node):
        if reached.intersection(node.output) and node.op_type not in _CUTS:
            reached.update(_taken(node))
    return reached


def _taken(node: NodeProto) -> Iterator[str]:
    yield from node.input
    for body in bodies(node):
        for inner in body.node:
            yield from _taken(inner)
        yield from (entry.name for entry in body.output)


def _check(view: View, source: str, train: Sequence[str], freeze: Sequence[str]) -> None:
    faults = []
    for word, patterns in (("train", train), ("freeze", freeze)):
        for pattern in patterns:
            if not any(_fits(name, [pattern]) for name in view.tensors):
                near = ", ".join(list(view.tensors)[:5]) or "none"
                faults.append(Fault(f"{word} {pattern!r}", f"fits no initializer of the model, which has {near}, ..."))
    for name, tensor in view.tensors.items():
        if _fits(name, train) and _fits(name, freeze):
            faults.append(
                Fault(name, "is to be trained by one pattern and frozen by another: make one of them narrower")
            )
        elif _fits(name, train) and tensor.data_type not in FLOATS:
            faults.append(Fault(name, f"cannot be trained: its type is {type_word(tensor.data_type)}"))
    if faults:
        raise InputError(source, faults)


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

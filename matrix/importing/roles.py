"""Which initial tensors of a model are trained, which stay as they are, and which each step replaces.

Where the model's origin is known (a file of stackproof's own export, or of PyTorch's exporter), it says what is a
parameter. Elsewhere a floating-point initializer is trained

* if it is used as a matrix, a kernel or a table, seen through nodes that move values or map each of them, and through
  those that cut and join tensors of weights;
* if it is the scale or bias of a layer, and not a literal: a name that exporters invent (`val_3`, `onnx::Add_12`), and
  one value everywhere; or
* if it is added to, subtracted from, multiplied with, divided by or joined to something, has at least one axis, a name
  that no exporter invented and no batch norm gives its statistics, and not the values of a mask. What is subtracted
  from an input of the model, or divides it, makes it even, and is no parameter.

And only if a gradient reaches it from an output that counts. Everything else is frozen: running statistics of a batch
norm that infers, initial states of LSTM, GRU and RNN, literals, tables of numbers, masks. Patterns of names overrule
all of this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import numpy_helper

from ...backends.errors import Fault, InputError
from ..bringing.graph import SCALES, WEIGHTS, Use, View, attribute, fills, is_lost, size
from ..bringing.traps import known_origin, trainable
from .checking import bodies
from .tensors import FLOATS, type_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from onnx import ModelProto, NodeProto, TensorProto

_STATISTICS: Final = (3, 4)
_MOVES: Final = frozenset(
    {
        *("Transpose", "Reshape", "Identity", "Cast", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Tile", "Pad"),
        *("Slice", "Split"),
    }
)
# What maps each element, or scales all of them to a length.
_MAPS: Final = frozenset(
    {
        *("Neg", "Abs", "Exp", "Log", "Sqrt", "Reciprocal", "Pow", "Clip", "Relu", "Tanh", "Sigmoid", "Softplus"),
        *("Softmax", "LogSoftmax", "LpNormalization"),
    }
)
_JOIN: Final = "Concat"
_OPEN: Final = frozenset({"Add", "Mul", "Sub", "Div", _JOIN})
_EVENS: Final = frozenset({"Sub", "Div"})
_SCALED: Final = frozenset({"Add", "Mul"})
# Floating-point inputs that say how an operator works.
_SETTINGS: Final = {"Resize": (1, 2), "Upsample": (1,)}
_STATISTIC_NAME: Final = re.compile(r"(.*[._/])?(running|moving)_(mean|var|variance|std)", re.IGNORECASE)
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
        frozen: Names of the floating-point tensors that are used and not trained, but for statistics of batch norms
            and what only says how an operator works; single numbers only where they are a weight, scale or bias.
        frozen_elements: The number of their elements.
        updates: For each tensor that a step replaces the name of what replaces it.
        why: How it was decided, for the reader.
    """

    trained: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    frozen_elements: int = 0
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
    inputs = _Inputs(view)
    chosen = set(known) if known is not None else {n for n in view.tensors if _is_parameter(view, n, inputs)}
    chosen = {name for name in chosen if view.tensors[name].data_type in FLOATS and name not in updates}
    chosen &= reached
    _check(view, source, train, freeze)
    chosen |= {name for name in view.tensors if _fits(name, train)}
    chosen -= {name for name in view.tensors if _fits(name, freeze)}
    kept = _used(view, inputs, (*outputs, *updates.values())) - chosen - updates.keys()
    frozen = tuple(name for name in view.tensors if name in kept)
    return Roles(
        tuple(name for name in view.tensors if name in chosen),
        frozen,
        sum(size(view.tensors[name]) for name in frozen),
        updates,
        "as its origin says" if known is not None else "by name and use",
    )


def _is_parameter(view: View, name: str, inputs: _Inputs) -> bool:
    tensor = view.tensors[name]
    if tensor.data_type not in FLOATS:
        return False
    uses = list(_uses(view, name, inputs))
    invented = is_lost(name) or _CONSTANT.fullmatch(name) is not None
    if any(fills(use, WEIGHTS) for use in uses):
        return True
    if any(use.node.op_type not in _OPEN for use in uses):
        return not (invented and view.is_constant(name))
    if _STATISTIC_NAME.fullmatch(name) or not any(not inputs.evened(use) for use in uses):
        return False
    return bool(tensor.dims) and not invented and not _is_mask(tensor)


def _uses(view: View, name: str, inputs: _Inputs) -> Iterator[Use]:
    """Yield where a tensor is used as a weight, a scale or a bias."""
    for use in _follow(view, name, inputs):
        op = use.node.op_type
        statistic = op == "BatchNormalization" and use.position in _STATISTICS
        if op == _JOIN or (use.position in (*WEIGHTS.get(op, ()), *SCALES.get(op, ())) and not statistic):
            yield use


def _follow(view: View, name: str, inputs: _Inputs) -> Iterator[Use]:
    """Yield where a tensor goes in, through nodes that move or map its values, and that join it to other weights.

    A difference or quotient of weights alone is one of its first operand, such as a weight by its length.
    """
    seen, waiting = {name}, list(reversed(view.direct.get(name, ())))
    while waiting:
        use = waiting.pop()
        op = use.node.op_type
        among_weights = op in {_JOIN, *_EVENS} and inputs.reach.isdisjoint(use.node.input)
        follows = among_weights and (op == _JOIN or (use.position == 0 and size(view.tensors[name]) > 1))
        if not follows and not (op in _MOVES | _MAPS and use.position == 0):
            if not among_weights:
                yield use
            continue
        for made in [made for made in use.node.output if made and made not in seen]:
            seen.add(made)
            waiting.extend(reversed(view.direct.get(made, ())))


class _Inputs:
    """What a model's inputs reach.

    Args:
        view: The graph.

    Attributes:
        reach: Names of the tensors that depend on an input, or on chance; of those in bodies too.
    """

    def __init__(self, view: View) -> None:
        graph = view.model.graph
        given = {entry.name for entry in graph.input} - view.tensors.keys()
        self.reach, self._raw = set(given), set(given)
        for node in view.nodes:
            if not self.reach.isdisjoint(node.input) or list(bodies(node)) or node.op_type.startswith("Random"):
                self.reach.update(node.output)
            if self._passes(view, node):
                self._raw.update(node.output)

    def evened(self, use: Use) -> bool:
        """Return whether a use subtracts from an input of the model as it was given, or divides it."""
        return use.node.op_type in _EVENS and use.node.input[0] in self._raw

    def _passes(self, view: View, node: NodeProto) -> bool:
        """Return whether a node gives on an input of the model with no more done to it than to make it even."""
        op = node.op_type
        others = [name for name in node.input if name not in self._raw]
        if len(others) == len(node.input):
            return False
        if op in _SCALED:
            return all(name in view.tensors and size(view.tensors[name]) == 1 for name in others)
        return op in _MOVES or (op in _EVENS and self.reach.isdisjoint(others))


def _used(view: View, inputs: _Inputs, outputs: Iterable[str]) -> set[str]:
    """Return the floating-point initializers that outputs need and that may hold something to train."""
    needed = set(outputs)
    for node in reversed(view.model.graph.node):
        if needed.intersection(node.output):
            needed.update(_taken(node))
    floats = {name for name, tensor in view.tensors.items() if tensor.data_type in FLOATS and name in needed}
    return {n for n in floats if any(_uses(view, n, inputs)) or (size(view.tensors[n]) > 1 and _may_hold(view, n))}


def _may_hold(view: View, name: str) -> bool:
    uses = view.direct.get(name, ())
    return not uses or any(use.position not in _place_settings(use.node.op_type) for use in uses)


def _place_settings(op: str) -> tuple[int, ...]:
    return _STATISTICS if op == "BatchNormalization" else _SETTINGS.get(op, ())


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
            _replace(node, initial, found, made)
        made.update(node.output)
    return found


def _replace(node: NodeProto, initial: set[str], found: dict[str, str], made: set[str]) -> None:
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

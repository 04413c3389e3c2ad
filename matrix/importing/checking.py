"""Whether a model is one that can be read on: sound by ONNX's own rules, in order, and of types that programs hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from onnx import AttributeProto, NodeProto, TensorProto, checker, defs, helper

from ...backends.errors import Fault, InputError
from .loading import named_tensors
from .tensors import PACKED, dtype_name, stored_bytes, type_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnx import GraphProto, ModelProto, TypeProto
    from onnx.onnx_ml_pb2 import FunctionProto

ONNX_DOMAINS: Final = frozenset({"", "ai.onnx"})


def check_tensors(model: ModelProto, source: str) -> None:
    """Refuse a model whose tensors, inputs or outputs are damaged or of a type that no program holds.

    Args:
        model: The model, with all of its tensors.
        source: What the user called it.

    Raises:
        InputError: With every such tensor.
    """
    faults = [*_typed(model.graph), *(f for name, tensor in named_tensors(model) for f in _whole(name, tensor))]
    if faults:
        raise InputError(source, faults)


def check_structure(model: ModelProto, source: str) -> None:
    """Refuse a model that is not sound by ONNX's own rules.

    Args:
        model: The model; large tensors may be taken out and stand among its inputs.
        source: What the user called it.

    Raises:
        InputError: Naming the node, and what is wrong with it.
    """
    opset = opset_of(model)
    if opset > defs.onnx_opset_version():
        what = f"uses operator set {opset}, and the onnx package here knows {defs.onnx_opset_version()}: update onnx"
        raise InputError(source, [Fault("", what)])
    faults = [*_in_order(model.graph, set()), *_empty(model)] or list(_known(model, opset))
    if faults:
        raise InputError(source, faults)
    if same_opset(model):  # the checker refuses others, which the inliner can do with once they are upgraded
        check_by_onnx(model, source, deprecated=True)


def check_by_onnx(model: ModelProto, source: str, *, deprecated: bool = False) -> None:
    """Refuse what ONNX's own checker does.

    Args:
        model: As for `check_structure`.
        source: What the user called it.
        deprecated: Whether an operator may be one that its set no longer wants; the checker ends there.

    Raises:
        InputError: With the checker's words.
    """
    try:
        checker.check_model(model)
    except (checker.ValidationError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        if not (deprecated and "is deprecated" in first):
            raise InputError(source, [Fault("", f"is no sound ONNX model: {first}")]) from None


def opset_of(model: ModelProto) -> int:
    """Return the version of ONNX's own operator set that a model uses; 1 where it names none."""
    return max((entry.version for entry in model.opset_import if entry.domain in ONNX_DOMAINS), default=1)


def same_opset(model: ModelProto) -> bool:
    """Return whether the model's functions use the operator set that the model itself uses."""
    opset = opset_of(model)
    return all(opset_of_function(function, opset) == opset for function in model.functions)


def opset_of_function(function: FunctionProto, otherwise: int) -> int:
    """Return the version of ONNX's own operator set that a function uses, or another where it names none."""
    return next((entry.version for entry in function.opset_import if entry.domain in ONNX_DOMAINS), otherwise)


def label(node: NodeProto) -> str:
    """Return how a message calls a node."""
    return node.name or next((name for name in node.output if name), "without a name")


def bodies(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs in a node's attributes."""
    for entry in node.attribute:
        if entry.type == AttributeProto.GRAPH:
            yield entry.g
        yield from entry.graphs


def _typed(graph: GraphProto) -> Iterator[Fault]:
    for part, entries in (("input", graph.input), ("output", graph.output)):
        for entry in entries:
            number = _element(entry.type)
            if number and not dtype_name(number):
                what = f"the {part} is of type {type_word(number)}, which no framework trains on"
                yield Fault(entry.name, f"{what}: take it out of the model")


def _element(kind: TypeProto) -> int:
    if kind.HasField("sequence_type"):
        return _element(kind.sequence_type.elem_type)
    if kind.HasField("optional_type"):
        return _element(kind.optional_type.elem_type)
    return int(kind.tensor_type.elem_type)


def _whole(name: str, tensor: TensorProto) -> Iterator[Fault]:
    """Report a tensor whose type no program holds, or whose data are not as many as its shape asks for."""
    if not dtype_name(tensor.data_type):
        what = f"is a tensor of type {type_word(tensor.data_type)}, which no framework trains on"
        yield Fault(name, f"{what}: take it out of the model")
        return
    shape = list(tensor.dims)
    if any(size < 0 for size in shape):
        yield Fault(name, f"its shape {shape} has a size below 0: the file is damaged")
        return
    has, wanted, unit = _amounts(tensor)
    if has != wanted:
        word = f"{has} {unit} of data" if has else "no data"
        yield Fault(name, f"has {word}, and its shape {shape} asks for {wanted}: the file is damaged")


def _amounts(tensor: TensorProto) -> tuple[int, int, str]:
    """Return how much data a tensor has, how much it is to have, and in what that is counted."""
    wanted = stored_bytes(tensor)
    if tensor.HasField("raw_data"):
        return len(tensor.raw_data), wanted, "bytes"
    numbers = len(getattr(tensor, helper.tensor_dtype_to_field(tensor.data_type)))
    pairs = 2 if dtype_name(tensor.data_type).startswith("complex") else 1
    return numbers, wanted if tensor.data_type in PACKED else math.prod(tensor.dims) * pairs, "numbers"


def _in_order(graph: GraphProto, outside: set[str]) -> Iterator[Fault]:
    known = {*outside, *(entry.name for entry in graph.input), *(tensor.name for tensor in graph.initializer)}
    known |= {sparse.values.name for sparse in graph.sparse_initializer}
    made = {name for node in graph.node for name in node.output if name}
    for node in graph.node:
        late = [name for name in node.input if name and name not in known]
        for name in late:
            why = (
                "only a later node makes, or this one itself: they go in a circle" if name in made else "nothing makes"
            )
            yield Fault(label(node), f"{node.op_type} takes {name!r}, which {why}")
        if late:
            return
        for body in bodies(node):
            yield from _in_order(body, known)
        known.update(node.output)


def _empty(model: ModelProto) -> Iterator[Fault]:
    """Report Constant nodes that hold nothing, which ONNX's checker lets pass."""
    parts = (model.graph.node, *(function.node for function in model.functions))
    for node in [node for part in parts for node in _with_bodies(part)]:
        if node.op_type == "Constant" and node.domain in ONNX_DOMAINS and not node.attribute:
            yield Fault(label(node), "is a Constant without a value: the file is damaged, or give it one")


def _with_bodies(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for body in bodies(node):
            yield from _with_bodies(body.node)


def _known(model: ModelProto, opset: int) -> Iterator[Fault]:
    """Report operators of ONNX's own set that it has not."""
    local = {(function.domain, function.name) for function in model.functions}
    for node in model.graph.node:
        own = node.domain in ONNX_DOMAINS and ("", node.op_type) not in local
        if own and not defs.has(node.op_type, max_inclusive_version=opset, domain=""):
            newer = f"; a later one than {opset} has it" if defs.has(node.op_type, domain="") else ""
            yield Fault(label(node), f"{node.op_type} is no operator of ONNX's set {opset}{newer}")

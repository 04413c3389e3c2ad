"""ONNX's own suite of operators, as programs: every node case of the installed `onnx`, and which of them do not count.

Needs `onnx` and numpy only, so that it runs in each framework's environment as well as where programs are made.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto, TensorProto, numpy_helper
from suite_outcome import SuiteCase

from stackproof.backends.program import dump
from stackproof.backends.static import STATIC_INPUTS
from stackproof.matrix.importing.convert import to_program
from stackproof.matrix.importing.prepare import Wishes, import_proto
from stackproof.matrix.importing.tensors import carried

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onnx import GraphProto, ModelProto, NodeProto, TypeProto

    from stackproof.backends.program import Program

# The prefixes of the cases of SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss, written out or not.
LOSS_PREFIXES = ("test_sce_", "test_nllloss_")
# What the size of a result is made of: static inputs, and those that say how many turns or numbers there are.
_SHAPING = {**STATIC_INPUTS, "Loop": (0,), "Range": (0, 1, 2)}
OPTIMIZERS = frozenset({"Adagrad", "Adam", "Momentum"})


@functools.cache
def collected() -> Mapping[str, Any]:
    """Return every node case of the installed `onnx` by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its generators overflow and divide by zero on purpose
        from onnx.backend.test.case.node import collect_testcases  # noqa: PLC0415 - the import generates cases

        return {case.name: case for case in collect_testcases(None)}


@functools.cache
def counted() -> Mapping[str, Any]:
    """Return the cases that count by name: all but those that `exclusion` names."""
    return {name: case for name, case in collected().items() if not exclusion(case)}


def exclusion(case: Any) -> str:
    """Return why a case does not count, or an empty string."""
    if any(node.op_type == "ImageDecoder" for node in nodes_of(case.model.graph)):
        return "decodes images"
    return "holds strings" if _holds_strings(case.model.graph) else ""


def operator_of(case: Any) -> str:
    """Return the operator that a case is about: that of its only node, or of the case that it writes out in others."""
    name = case.name.partition("_expanded")[0]
    graph = collected()[name].model.graph if name in collected() else case.model.graph
    return next((node.op_type for node in graph.node if node.op_type != "Constant"), graph.node[0].op_type)


def is_written_out(case: Any) -> bool:
    """Say whether a case is the body of a function operator, written out in other operators."""
    return "_expanded" in case.name


def operators_of(case: Any) -> set[str]:
    """Return every operator in a case, those in bodies included."""
    return {node.op_type for node in nodes_of(case.model.graph)}


def nodes_of(graph: GraphProto) -> Iterator[NodeProto]:
    """Yield the nodes of a graph and of the bodies in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from nodes_of(attribute.g)


def prepared(case: Any, *, static: bool = False) -> SuiteCase:
    """Return a case as a program with its inputs and what it should give.

    The program is made as one of a user's own model is. Where an input is a sequence or an optional, which a user's
    model cannot have since a batch holds tensors, the graph is taken as it is.

    Args:
        case: A case of `collected`.
        static: Whether integers that shapes are made of become constants, as in a program that is to be compiled.

    Raises:
        UnsupportedError: No program holds the model.
    """
    ((given, wanted),) = case.data_sets
    graph = case.model.graph
    inputs = {entry.name: plain(value, entry.type) for entry, value in zip(graph.input, given, strict=False)}
    outputs = tuple(plain(value, entry.type) for entry, value in zip(graph.output, wanted, strict=True))
    model = with_constants(case.model, given, shaping(graph)) if static else case.model
    kept = {entry.name for entry in model.graph.input}
    inputs = {name: value for name, value in inputs.items() if name in kept}
    return SuiteCase(case.name, dump(program_of(model, case.name)), inputs, outputs, case.rtol, case.atol)


def program_of(model: ModelProto, name: str) -> Program:
    """Return a model as a program, by the way that a user's own model takes wherever it can."""
    if any(entry.type.WhichOneof("value") != "tensor_type" for entry in model.graph.input):
        return to_program(model)
    changed = type(model)()
    changed.CopyFrom(model)
    return import_proto(changed, name, Wishes(shapes=_stated(model), allow_not_finite=True), name).program


def _stated(model: ModelProto) -> dict[str, tuple[int, ...]]:
    """Return the sizes that a case states; a 0 is meant there, and is open in a user's model."""
    sizes = {entry.name: entry.type.tensor_type.shape.dim for entry in model.graph.input}
    concrete = {name: dims for name, dims in sizes.items() if all(size.HasField("dim_value") for size in dims)}
    return {name: tuple(size.dim_value for size in dims) for name, dims in concrete.items() if len(dims)}


def plain(value: Any, kind: TypeProto) -> Any:
    """Return a value of ONNX's as a program takes or gives it."""
    if kind.HasField("optional_type"):
        return None if value is None else plain(value, kind.optional_type.elem_type)
    if kind.HasField("sequence_type"):
        return [plain(entry, kind.sequence_type.elem_type) for entry in value]
    array = numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)
    return carried(array, kind.tensor_type.elem_type)


def shaping(graph: GraphProto) -> set[str]:
    """Return the integer inputs of a graph from which something that must be static is made."""
    wanted = _static_names(graph)
    for node in reversed(graph.node):
        if wanted & set(node.output) and node.op_type not in ("Shape", "Size"):
            wanted |= set(node.input)
    integers = (TensorProto.INT64, TensorProto.INT32)
    return {
        entry.name
        for entry in graph.input
        if entry.name in wanted and (entry.type.tensor_type.elem_type in integers or _is_static(graph, entry.name))
    }


def with_constants(model: ModelProto, given: Any, names: set[str]) -> ModelProto:
    """Return a model in which some inputs are initial tensors with the values of a case."""
    made = type(model)()
    made.CopyFrom(model)
    held = {entry.name: value for entry, value in zip(model.graph.input, given, strict=False) if entry.name in names}
    for name, value in held.items():
        tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value))
        made.graph.initializer.add().CopyFrom(tensor)
        made.graph.initializer[-1].name = name
    del made.graph.input[:]
    made.graph.input.extend(entry for entry in model.graph.input if entry.name not in held)
    return made


def _static_names(graph: GraphProto) -> set[str]:
    return {
        node.input[place]
        for node in graph.node
        for place in _SHAPING.get(node.op_type, ())
        if place < len(node.input) and node.input[place]
    }


def _is_static(graph: GraphProto, name: str) -> bool:
    return name in _static_names(graph)


def _holds_strings(graph: GraphProto) -> bool:
    entries = (*graph.input, *graph.output, *graph.value_info)
    tensors = [*graph.initializer]
    for node in graph.node:
        for attribute in node.attribute:
            tensors += [attribute.t, *attribute.tensors]
            if attribute.type == AttributeProto.GRAPH and _holds_strings(attribute.g):
                return True
    return any(_is_string(entry.type) for entry in entries) or any(
        tensor.data_type == TensorProto.STRING for tensor in tensors
    )


def _is_string(kind: TypeProto) -> bool:
    which = kind.WhichOneof("value")
    if which in ("sequence_type", "optional_type"):
        return _is_string(getattr(kind, which).elem_type)
    return which == "tensor_type" and kind.tensor_type.elem_type == TensorProto.STRING

"""Functions opened: those of the model itself, and operators that are functions of others and have no rule."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from onnx import defs, helper, inliner

from ...backends.errors import Fault, InputError
from ...backends.program import OPSET
from .checking import ONNX_DOMAINS, bodies
from .supported import operators

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from onnx import GraphProto, ModelProto, NodeProto


def open_functions(model: ModelProto, source: str) -> ModelProto:
    """Return a model without functions of its own: each call is replaced by the function's nodes.

    Raises:
        InputError: Functions call each other in a circle, or cannot be opened.
    """
    if not model.functions:
        return model
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:  # the inliner has no exception class of its own
        raise InputError(source, [Fault("", f"its functions cannot be opened: {error}")]) from error


def open_operators(model: ModelProto, targets: Sequence[str]) -> tuple[ModelProto, list[str]]:
    """Replace operators that a target has no rule for by what ONNX defines them as.

    Args:
        model: A model of operator set `OPSET`, its types and shapes inferred where a definition depends on them.
        targets: The targets that are to run it.

    Returns:
        The model, and the operators that were replaced, sorted.
    """
    opened: set[str] = set()
    while True:
        lacking = {op for op in _functions(model) if not all(op in operators(target) for target in targets)}
        if not lacking - opened:
            return model, sorted(opened - set(_functions(model)))
        opened |= lacking
        model = open_nodes(model, lacking)


def is_function(op: str) -> bool:
    """Return whether ONNX defines an operator by others."""
    if not defs.has(op, domain="", max_inclusive_version=OPSET):
        return False
    schema: Any = defs.get_schema(op, OPSET, "")  # onnx's stubs lack what is asked of it
    return bool(schema.has_function or schema.has_context_dependent_function)


def open_nodes(model: ModelProto, ops: Collection[str]) -> ModelProto:
    """Return a model in which these operators are replaced by what ONNX defines them as.

    Args:
        model: A model with inferred types; the defaults of these operators are written down in it.
        ops: Operators that ONNX defines by others.
    """
    _state_defaults(model.graph, ops)
    _state_types(model.graph)
    return _opened(model, sorted(ops))


def _state_defaults(graph: GraphProto, ops: Collection[str]) -> None:
    """Write down the defaults of operators that are to be opened: the inliner does not know those of every one."""
    for node in all_nodes(graph):
        if node.op_type in ops and node.domain in ONNX_DOMAINS:
            given = {entry.name for entry in node.attribute}
            known = defs.get_schema(node.op_type, OPSET, "").attributes
            lacking = [entry.default_value for name, entry in known.items() if name not in given]
            node.attribute.extend(value for value in lacking if value.name)


def _state_types(graph: GraphProto) -> None:
    """Write down the types of initializers: the inliner looks for them among those of other tensors."""
    known = {entry.name for entry in (*graph.input, *graph.value_info)}
    graph.value_info.extend(
        helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        for tensor in graph.initializer
        if tensor.name not in known
    )


def _opened(model: ModelProto, ops: list[str]) -> ModelProto:
    """Open operators together, or one by one where the inliner fails: what it cannot open stays as it is."""
    with contextlib.suppress(Exception):  # the inliner has no exception class of its own
        return inliner.inline_selected_functions(model, [("", op) for op in ops], inline_schema_functions=True)
    for op in ops if len(ops) > 1 else []:
        model = _opened(model, [op])
    return model


def all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """Yield every node of a graph and of the bodies in it."""
    for node in graph.node:
        yield node
        for body in bodies(node):
            yield from all_nodes(body)


def _functions(model: ModelProto) -> Iterator[str]:
    """Yield the operators of a model that ONNX defines by others."""
    ops = {node.op_type for node in all_nodes(model.graph) if node.domain in ONNX_DOMAINS}
    yield from (op for op in ops if is_function(op))

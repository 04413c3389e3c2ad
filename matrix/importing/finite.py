"""Whether the floating-point values that a model brings along are finite, wherever it keeps them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import AttributeProto, numpy_helper

from ...backends.errors import Fault, InputError
from .checking import ONNX_DOMAINS, bodies
from .tensors import dtype_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from numpy.typing import NDArray
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

# Operators that choose by a value, or between values, and do not calculate with one.
_CHOOSING: Final = frozenset(
    {"Clip", "Where", "Max", "Min", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}
)
_MEND: Final = "mend the weights, or let them pass on purpose (--allow-not-finite)"


def check_finite(model: ModelProto, source: str) -> None:
    """Refuse NaN in an initializer or a Constant node, and infinity unless it may be meant.

    Minus infinity is meant in a mask, whose other elements are 0, and infinity in a single number that nodes only
    choose by. What is trained must be finite throughout; `check_trained` sees to that.

    Args:
        model: The model; the data of its tensors fit their shapes.
        source: What the user called it.

    Raises:
        InputError: With every such tensor.
    """
    held = chain(_of_graph(model.graph), _of_functions(model))
    bad = [(name, values) for name, values in held if not np.isfinite(values).all()]
    used = _users(model) if bad else {}
    bad = [(name, values) for name, values in bad if not (_is_mask(values) or _is_limit(values, used.get(name, set())))]
    if bad:
        raise InputError(source, [Fault(name, _words(values, "it would spoil every step")) for name, values in bad])


def check_trained(model: ModelProto, source: str, names: Collection[str]) -> None:
    """Refuse NaN and infinity of either sign in what is trained or replaced at each step.

    Args:
        model: The model.
        source: What the user called it.
        names: Names of the initializers that are.

    Raises:
        InputError: With every such tensor.
    """
    held = ((tensor.name, _values(tensor)) for tensor in model.graph.initializer if tensor.name in names)
    bad = [(name, values) for name, values in held if values is not None and not np.isfinite(values).all()]
    if bad:
        why = "no training goes on from there"
        raise InputError(source, [Fault(name, _words(values, why)) for name, values in bad])


def _words(values: NDArray[Any], why: str) -> str:
    count = int(values.size - np.isfinite(values).sum())
    return f"{count} of its {values.size} elements are NaN or infinite: {why}; {_MEND}"


def _is_mask(values: NDArray[Any]) -> bool:
    known = values[np.isfinite(values)]
    return not (np.isnan(values).any() or np.isposinf(values).any()) and bool((known == 0).all())


def _is_limit(values: NDArray[Any], ops: set[str]) -> bool:
    return values.size == 1 and not np.isnan(values).any() and ops <= _CHOOSING


def _users(model: ModelProto) -> dict[str, set[str]]:
    """Return the operators that take each tensor."""
    found: dict[str, set[str]] = {}
    for node in [*_nodes(model.graph.node), *(n for function in model.functions for n in _nodes(function.node))]:
        for name in node.input:
            found.setdefault(name, set()).add(node.op_type)
    return found


def _nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for body in bodies(node):
            yield from _nodes(body.node)


def _of_graph(graph: GraphProto) -> Iterator[tuple[str, NDArray[Any]]]:
    for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
        values = _values(tensor)
        if values is not None:
            yield tensor.name, values
    yield from _of_nodes(graph.node)


def _of_functions(model: ModelProto) -> Iterator[tuple[str, NDArray[Any]]]:
    for function in model.functions:
        yield from _of_nodes(function.node)


def _of_nodes(nodes: Iterable[NodeProto]) -> Iterator[tuple[str, NDArray[Any]]]:
    for node in nodes:
        for body in bodies(node):
            yield from _of_graph(body)
        if node.op_type == "Constant" and node.domain in ONNX_DOMAINS:
            held = (_of_attribute(entry) for entry in node.attribute)
            yield from ((node.output[0], values) for values in held if values is not None)


def _of_attribute(entry: AttributeProto) -> NDArray[Any] | None:
    if entry.type == AttributeProto.TENSOR:
        return _values(entry.t)
    if entry.type == AttributeProto.SPARSE_TENSOR:
        return _values(entry.sparse_tensor.values)
    if entry.type == AttributeProto.FLOAT:
        return np.array([entry.f], np.float32)
    return np.array(entry.floats, np.float32) if entry.type == AttributeProto.FLOATS else None


def _values(tensor: TensorProto) -> NDArray[Any] | None:
    """Return the values of a tensor of a floating-point type in one that numpy counts with."""
    if "float" not in dtype_name(tensor.data_type):
        return None
    values = numpy_helper.to_array(tensor)
    return values if values.dtype.kind == "f" else values.astype(np.float32)

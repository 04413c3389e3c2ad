"""Limits on what is worked out beforehand, since a small file can ask for more than any machine has."""

from __future__ import annotations

import contextlib
import math
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Final

from onnx import helper, numpy_helper, shape_inference

from ...backends.errors import Fault, InputError
from .checking import ONNX_DOMAINS, bodies
from .inlining import all_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from onnx import ModelProto, NodeProto, TensorProto

# Nodes of a model whose functions are opened.
MOST_NODES: Final = 2**18
# Numbers of a Range that onnx may carry along as it infers shapes: it keeps each in a message of its own.
_LONGEST: Final = 2**20
# Elements of a tensor whose values may decide a shape.
_SHORT: Final = 4096


def check_calls(model: ModelProto, source: str, most: int = MOST_NODES) -> None:
    """Refuse a model whose functions call each other so often that opening them would take too long.

    Args:
        model: The model; functions that call each other in a circle are left to ONNX's checker.
        source: What the user called it.
        most: Number of nodes that are too many.

    Raises:
        InputError: With the number of nodes that the model would have.
    """
    functions = {(entry.domain, entry.name, entry.overload): list(_nodes(entry.node)) for entry in model.functions}
    called = {key: {_key(node) for node in nodes} & functions.keys() for key, nodes in functions.items()}
    sizes: dict[tuple[str, str, str], int] = {}
    try:
        for key in TopologicalSorter(called).static_order():
            sizes[key] = _opened(functions[key], sizes)
    except CycleError:
        return
    count = _opened(_nodes(model.graph.node), sizes)
    if count >= most:
        shown = count if count < 10**12 else "more than 10^12"
        what = f"has {shown} nodes once its functions are opened, and {most} are too many"
        raise InputError(source, [Fault("", f"{what}: export it without functions that call others so often")])


def carries_values(model: ModelProto) -> bool:
    """Return whether onnx may carry values along as it infers shapes: not where a Range makes a great many."""
    ranges = [n for n in all_nodes(model.graph) if n.op_type == "Range" and n.domain in ONNX_DOMAINS]
    known = _scalars(model, {name for node in ranges for name in node.input}) if ranges else {}
    return all(_length(node, known) <= _LONGEST for node in ranges)


def makes_at_most(model: ModelProto, node: NodeProto, tensors: Sequence[TensorProto], most: int) -> bool:
    """Return whether a node makes no more elements than a limit; yes where ONNX cannot tell before it runs.

    Args:
        model: The model, for its operator sets.
        node: The node.
        tensors: All that it takes; their values are known.
        most: The limit, for each output.
    """
    short = [tensor for tensor in tensors if math.prod(tensor.dims) <= _SHORT]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    inputs = [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in tensors]
    graph = helper.make_graph([node], "one", inputs, outputs, short)
    one = helper.make_model(graph, opset_imports=list(model.opset_import), ir_version=model.ir_version)
    with contextlib.suppress(Exception):  # shape inference has exceptions of its own
        one = shape_inference.infer_shapes(one)
    found = [[size.dim_value for size in entry.type.tensor_type.shape.dim] for entry in one.graph.output]
    return all(math.prod(sizes) <= most for sizes in found)


def _opened(nodes: Iterable[NodeProto], sizes: Mapping[tuple[str, str, str], int]) -> int:
    return sum(sizes.get(_key(node), 1) for node in nodes)


def _key(node: NodeProto) -> tuple[str, str, str]:
    return node.domain, node.op_type, node.overload


def _nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for body in bodies(node):
            yield from all_nodes(body)


def _scalars(model: ModelProto, names: set[str]) -> dict[str, float]:
    """Return the values of single numbers that initializers and Constant nodes of the main graph hold."""
    held = [(tensor.name, tensor) for tensor in model.graph.initializer]
    constants = [node for node in model.graph.node if node.op_type == "Constant" and node.domain in ONNX_DOMAINS]
    held += [(node.output[0], entry.t) for node in constants for entry in node.attribute if entry.name == "value"]
    found = {
        name: float(numpy_helper.to_array(tensor).reshape(-1)[0])
        for name, tensor in held
        if name in names and math.prod(tensor.dims) == 1
    }
    plain = [(node.output[0], entry) for node in constants for entry in node.attribute]
    found |= {name: float(entry.i) for name, entry in plain if entry.name == "value_int"}
    return found | {name: float(entry.f) for name, entry in plain if entry.name == "value_float"}


def _length(node: NodeProto, known: Mapping[str, float]) -> float:
    start, limit, step = (known.get(name, math.nan) for name in (*node.input, "", "", "")[:3])
    length = (limit - start) / step if step else 0.0
    return 0.0 if math.isnan(length) else length

"""From any older operator set to `program.OPSET`: each operator whose form or meaning changed on the way is rewritten.

An operator that is not listed in `upgrades` or `legacy` means the same in its old version: what changed since is which
types it takes, or options whose default is the old behaviour.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from onnx import ModelProto, helper, shape_inference

from ...backends.errors import Fault, InputError
from ...backends.program import OPSET
from .checking import ONNX_DOMAINS, bodies, label, opset_of, opset_of_function
from .legacy import LEGACY
from .limits import carries_values
from .upgrade import Kind, Old, RefusedError
from .upgrades import UPGRADES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnx import GraphProto, NodeProto, TensorProto
    from onnx.onnx_ml_pb2 import FunctionProto

_RULES = {**UPGRADES, **LEGACY}


def upgrade(model: ModelProto, source: str) -> tuple[ModelProto, list[str]]:
    """Return a model with every operator in the form and meaning of operator set `OPSET`.

    Args:
        model: The model; large tensors may be taken out and stand among its inputs. It is not changed.
        source: What the user called it.

    Returns:
        The model, and the names of the operators that were rewritten, sorted.

    Raises:
        InputError: An old form has no counterpart; the message names the node.
    """
    old = opset_of(model)
    upgraded = ModelProto()
    upgraded.CopyFrom(model)
    work = _Work(model, source)
    work.graph(upgraded.graph, old)
    for function in upgraded.functions:
        _restate(function, work.nodes(function.node, opset_of_function(function, old)))
        _set_opset(function)
    _set_opset(upgraded)
    if work.faults:
        raise InputError(source, work.faults)
    return upgraded, sorted(work.changed)


class _Work:
    """One model being upgraded: what is known of its tensors, and what was found."""

    def __init__(self, model: ModelProto, source: str) -> None:
        self._source = source
        self._kinds = kinds_of(model)
        self._taken = set(self._kinds) | {name for node in model.graph.node for name in node.output}
        self._needed = needed(model.graph)
        self._values: dict[str, Any] = {tensor.name: tensor for tensor in model.graph.initializer}
        self.faults: list[Fault] = []
        self.changed: set[str] = set()

    def graph(self, graph: GraphProto, opset: int) -> None:
        self._values.update({tensor.name: tensor for tensor in graph.initializer})
        _restate(graph, self.nodes(graph.node, opset))

    def nodes(self, nodes: Iterable[NodeProto], opset: int) -> list[NodeProto]:
        made: list[NodeProto] = []
        for node in nodes:
            self._note(node)
            for body in bodies(node):
                self.graph(body, opset)
            made.extend(self._one(node, opset))
        return made

    def _note(self, node: NodeProto) -> None:
        tensor = _held(node)
        if tensor is not None:
            self._values[node.output[0]] = tensor

    def _one(self, node: NodeProto, opset: int) -> list[NodeProto]:
        rule = next((rule for below, rule in _RULES.get(node.op_type, ()) if opset < below), None)
        if rule is None or node.domain not in ONNX_DOMAINS or opset >= OPSET:
            return [node]
        old = Old(node, self._kinds, self._values, self._taken, self._needed)
        try:
            made = rule(old)
        except RefusedError as refused:
            what = f"{node.op_type} of operator set {opset} {refused}"
            self.faults.append(Fault(label(node), f"{what}: export the model with a newer operator set"))
            return [node]
        if made is None:
            return [node]
        self.changed.add(node.op_type)
        return made


def kinds_of(model: ModelProto) -> dict[str, Kind]:
    """Return what is known of a model's tensors, its own words and what ONNX infers."""
    with contextlib.suppress(Exception):  # what cannot be inferred is refused by name where it is needed
        model = shape_inference.infer_shapes(model, data_prop=carries_values(model))
    return dict(_kinds(model.graph))


def needed(graph: GraphProto) -> set[str]:
    """Return the names that a node or an output of a graph takes, those of bodies too."""
    found = {entry.name for entry in graph.output}
    for node in graph.node:
        found.update(node.input)
        for body in bodies(node):
            found |= needed(body)
    return found


def _kinds(graph: GraphProto) -> Iterator[tuple[str, Kind]]:
    for entry in (*graph.input, *graph.value_info, *graph.output):
        tensor = entry.type.tensor_type
        if tensor.HasField("shape"):
            sizes = (size.dim_value if size.HasField("dim_value") else None for size in tensor.shape.dim)
            yield entry.name, Kind(tensor.elem_type, tuple(sizes))
    yield from ((tensor.name, Kind(tensor.data_type, tuple(tensor.dims))) for tensor in graph.initializer)
    for node in graph.node:
        tensor = _held(node)
        if tensor is not None:
            yield node.output[0], Kind(tensor.data_type, tuple(tensor.dims))
        for body in bodies(node):
            yield from _kinds(body)


def _held(node: NodeProto) -> TensorProto | None:
    """Return the tensor that a Constant node holds as such."""
    entries = [entry.t for entry in node.attribute if entry.name == "value" and not entry.ref_attr_name]
    return entries[0] if entries and node.op_type == "Constant" else None


def _restate(holder: GraphProto | FunctionProto, nodes: list[NodeProto]) -> None:
    del holder.node[:]
    holder.node.extend(nodes)


def _set_opset(holder: ModelProto | FunctionProto) -> None:
    others = [(entry.domain, entry.version) for entry in holder.opset_import if entry.domain not in ONNX_DOMAINS]
    del holder.opset_import[:]
    holder.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in [("", OPSET), *others])

"""A program as an ONNX model."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import AttributeProto, TensorProto, checker, defs, helper, numpy_helper, shape_inference

from ...backends.errors import UnsupportedError
from ...backends.graph import Body
from ...backends.nodes import DTYPES
from ...backends.program import OPSET
from ..importing.inlining import all_nodes, is_function, open_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnx import GraphProto, ModelProto, NodeProto

    from ...backends.graph import Attribute
    from ...backends.program import Node, Program

PRODUCER: Final = "stackproof"
# From this version on an initializer need not be an input.
_OLDEST_IR: Final = 4
_NUMBERS: Final = {name: number for number, name in DTYPES.items()}
# Operators that came with this operator set or later are replaced by older ones.
_NEW: Final = 24
_DOMAINS: Final = ("", "ai.onnx.ml", "ai.onnx.preview.training")


def to_model(program: Program) -> ModelProto:
    """Return a program as an ONNX model of the lowest operator set that has all of its operators in this form.

    Args:
        program: A program without a loss; its tensors become initializers.

    Raises:
        UnsupportedError: The program holds what ONNX cannot, or its graph is not sound.
    """
    versions = _versions(program.nodes)
    graph = helper.make_graph(
        [_node(node) for node in program.nodes],
        program.name,
        [helper.make_tensor_value_info(e.name, _NUMBERS[e.dtype], list(e.shape)) for e in program.inputs],
        [helper.make_empty_tensor_value_info(name) for name in program.outputs],
        [_tensor(name, value, program.narrow.get(name)) for name, value in _tensors(program).items()],
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    model = helper.make_model(graph, opset_imports=opsets, producer_name=PRODUCER)
    model.ir_version = max(_OLDEST_IR, helper.find_min_ir_version_for(opsets))
    return _checked(_opened(model), program.outputs)


def _opened(model: ModelProto) -> ModelProto:
    """Replace operators that are new in ONNX, and that runtimes lack, by what ONNX defines them as."""
    new = {node.op_type for node in all_nodes(model.graph) if _is_new(node.op_type)}
    if not new:
        return model
    model = open_nodes(shape_inference.infer_shapes(model, data_prop=True), new)
    del model.graph.value_info[:]
    return model


def _is_new(op: str) -> bool:
    versions = [schema.since_version for schema in _history().get(op, ())]
    return bool(versions) and min(versions) >= _NEW and is_function(op)


@cache
def _history() -> dict[str, list[defs.OpSchema]]:
    found: dict[str, list[defs.OpSchema]] = {}
    for schema in defs.get_all_schemas_with_history():
        if not schema.domain:
            found.setdefault(schema.name, []).append(schema)
    return found


def _checked(model: ModelProto, outputs: Sequence[str]) -> ModelProto:
    """Return a model with the types of its outputs, checked in full."""
    try:
        inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        known = {t.name: helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in model.graph.initializer}
        known |= {e.name: e for e in (*inferred.graph.value_info, *inferred.graph.output) if e.type.WhichOneof("value")}
        del model.graph.output[:]
        model.graph.output.extend(known[name] for name in outputs)
        # The checker insists on shapes, and those of some outputs depend on values.
        if all(entry.type.tensor_type.HasField("shape") for entry in model.graph.output):
            checker.check_model(model, full_check=True)
    except Exception as error:  # onnx raises several of its own, without a common class
        raise UnsupportedError(f"the program cannot be written as ONNX: {' '.join(str(error).split())}") from error
    return model


def _tensors(program: Program) -> dict[str, Any]:
    return {**program.constants, **program.state, **program.parameters}


def _node(node: Node) -> NodeProto:
    domain = _domain(node.op)
    made = helper.make_node(node.op, list(node.inputs), list(node.outputs), domain=domain)
    kinds = defs.get_schema(node.op, OPSET if not domain else 100, domain).attributes
    made.attribute.extend(_attribute(key, value, kinds) for key, value in node.attributes.items())
    return made


def _attribute(key: str, value: Attribute, kinds: Mapping[str, Any]) -> AttributeProto:
    if isinstance(value, Body):
        return helper.make_attribute(key, _body(value))
    if isinstance(value, np.ndarray):
        return helper.make_attribute(key, numpy_helper.from_array(value))
    if isinstance(value, tuple):
        kind = getattr(AttributeProto, kinds[key].type.name) if key in kinds else None
        return helper.make_attribute(key, list(value), attr_type=kind)
    return helper.make_attribute(key, value)


def _body(body: Body) -> GraphProto:
    """Return a body as a graph; an output that it does not make itself is passed through a node of its own."""
    made = {*body.inputs, *(name for node in body.nodes for name in node.outputs)}
    passed = {name: f"{name}.{place}.out" for place, name in enumerate(body.outputs) if name not in made}
    nodes = [_node(node) for node in body.nodes]
    nodes += [helper.make_node("Identity", [name], [other]) for name, other in passed.items()]
    inputs = [helper.make_empty_tensor_value_info(name) for name in body.inputs]
    outputs = [helper.make_empty_tensor_value_info(passed.get(name, name)) for name in body.outputs]
    return helper.make_graph(nodes, "body", inputs, outputs)


def _tensor(name: str, value: np.ndarray, narrow: str | None) -> TensorProto:
    if narrow is None:
        return numpy_helper.from_array(value, name)
    dtype = helper.tensor_dtype_to_np_dtype(_NUMBERS[narrow])
    return numpy_helper.from_array(value.astype(dtype), name)


def _versions(nodes: Sequence[Node]) -> dict[str, int]:
    """Return the lowest version of each domain in which all operators have their present form."""
    found: dict[str, int] = {"": 1}
    for node in _every(nodes):
        domain = _domain(node.op)
        since = defs.get_schema(node.op, OPSET if not domain else 100, domain).since_version
        found[domain] = max(found.get(domain, 1), since)
    return found


def _every(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for value in node.attributes.values():
            if isinstance(value, Body):
                yield from _every(value.nodes)


def _domain(op: str) -> str:
    for domain in _DOMAINS:
        if defs.has(op, domain=domain):
            return domain
    raise UnsupportedError(f"{op} is no operator of ONNX")

"""Which node's inputs do not fit each other, where ONNX's shape inference only says that some do not."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from onnx import helper, shape_inference

from .checking import label

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TypeProto


def first_misfit(model: ModelProto, said: str) -> tuple[str, str]:
    """Return the first node whose shapes cannot be inferred, and what it takes; two empty texts where none is found.

    Args:
        model: A model whose shape inference fails.
        said: What ONNX says of it; the node's operator is named there.
    """
    with contextlib.suppress(Exception):  # without what can be inferred, types and sizes of inputs still say much
        model = shape_inference.infer_shapes(model)
    graph = model.graph
    kinds = {e.name: e.type for e in (*graph.input, *graph.value_info) if e.type.tensor_type.HasField("shape")}
    kinds |= {t.name: helper.make_tensor_type_proto(t.data_type, t.dims) for t in graph.initializer}
    for node in graph.node:
        names = [name for name in node.input if name]
        known = f"op_type:{node.op_type}" in said and all(name in kinds for name in names)
        if known and names and not _fits(model, node, kinds):
            takes = " and ".join(f"{name} {_sizes(kinds[name])}" for name in names)
            return label(node), f"{node.op_type} takes {takes}; ONNX says: "
    return "", ""


def _fits(model: ModelProto, node: NodeProto, kinds: dict[str, TypeProto]) -> bool:
    """Return whether the shapes of a node alone can be inferred; those that its values decide pass."""
    inputs = [helper.make_value_info(name, kinds[name]) for name in dict.fromkeys(node.input) if name]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    held = [tensor for tensor in model.graph.initializer if tensor.name in node.input]  # a Reshape's shape and the like
    graph = helper.make_graph([node], "one", inputs, outputs, held)
    one = helper.make_model(graph, opset_imports=list(model.opset_import), ir_version=model.ir_version)
    with contextlib.suppress(Exception):  # shape inference has exceptions of its own
        shape_inference.infer_shapes(one, check_type=True, strict_mode=True)
        return True
    return False


def _sizes(kind: TypeProto) -> str:
    sizes = kind.tensor_type.shape.dim
    return f"[{', '.join(str(s.dim_value) if s.HasField('dim_value') else s.dim_param or '?' for s in sizes)}]"

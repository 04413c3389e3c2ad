"""A whole program's loss, computed in float64 by ONNX's reference evaluator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from stackproof.backends.lower import is_float
from stackproof.backends.program import OPSET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stackproof.backends.program import Node, Program


def as_onnx_holds_it(program: Program) -> Program:
    """Return the program with attributes rounded to float32, as ONNX's protocol buffers hold them."""
    return replace(program, nodes=tuple(replace(node, attributes=_rounded(node)) for node in program.nodes))


def _rounded(node: Node) -> dict[str, Any]:
    return {key: float(np.float32(v)) if isinstance(v, float) else v for key, v in node.attributes.items()}


def reference_loss(program: Program, batch: Mapping[str, np.ndarray]) -> float:
    """Return the loss of the initial parameters on one batch."""
    tensors = {**program.constants, **program.parameters, **program.state, **batch}
    wide = {name: value.astype(np.float64) if is_float(value) else value for name, value in tensors.items()}
    typed = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in wide.items()
    ]
    nodes = [helper.make_node(node.op, node.inputs, node.outputs, **node.attributes) for node in program.nodes]
    graph = helper.make_graph(nodes, program.name, typed, [helper.make_empty_tensor_value_info(program.loss)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    return float(ReferenceEvaluator(model).run(None, wide)[0])

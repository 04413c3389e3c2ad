"""Small ONNX models for tests, and what ONNX's own reference computes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from stackproof.matrix.exporting.inference import as_inference
from stackproof.matrix.exporting.onnx_graph import to_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from onnx import ModelProto, NodeProto, ValueInfoProto
    from onnx import TensorProto as Tensor

    from stackproof.backends.program import Program

node = helper.make_node
info = helper.make_tensor_value_info


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def model(
    nodes: Iterable[NodeProto],
    inputs: Iterable[ValueInfoProto],
    outputs: Iterable[ValueInfoProto],
    tensors: Mapping[str, Any] | None = None,
    opset: int = 28,
    **more: Any,
) -> ModelProto:
    """Return a model; `tensors` are its initializers, as arrays or as tensors."""
    held: list[Tensor] = [
        value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value), name)
        for name, value in (tensors or {}).items()
    ]
    graph = helper.make_graph(list(nodes), "small", list(inputs), list(outputs), held)
    domains = {entry.domain for entry in graph.node} - {""}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in sorted(domains))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, **more)


def floats(name: str, *sizes: int | str) -> ValueInfoProto:
    return info(name, TensorProto.FLOAT, list(sizes))


def whole(name: str, *sizes: int | str) -> ValueInfoProto:
    return info(name, TensorProto.INT64, list(sizes))


def classifier(batch: int | str = "batch", opset: int = 17) -> ModelProto:
    """Return a convolution with batch norm and a linear layer behind shape arithmetic, 3x8x8 images to 5 classes."""
    nodes = [
        node("Conv", ["x", "conv.weight", "conv.bias"], ["wide"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["wide", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"], ["normal"]),
        node("Relu", ["normal"], ["active"]),
        node("GlobalAveragePool", ["active"], ["pooled"]),
        node("Shape", ["pooled"], ["shape"]),
        node("Gather", ["shape", "zero"], ["first"], axis=0),
        node("Unsqueeze", ["first", "axes"], ["firsts"]),
        node("Concat", ["firsts", "rest"], ["flat_shape"], axis=0),
        node("Reshape", ["pooled", "flat_shape"], ["flat"]),
        node("Identity", ["flat"], ["same"]),
        node("Gemm", ["same", "fc.weight", "fc.bias"], ["scores"], transB=1),
    ]
    tensors = {
        "conv.weight": drawn(4, 3, 3, 3),
        "conv.bias": drawn(4, seed=1),
        "bn.weight": drawn(4, seed=2),
        "bn.bias": drawn(4, seed=3),
        "bn.running_mean": drawn(4, seed=4),
        "bn.running_var": np.abs(drawn(4, seed=5)) + 0.5,
        "zero": np.array(0),
        "axes": np.array([0]),
        "rest": np.array([-1]),
        "fc.weight": drawn(5, 4, seed=6),
        "fc.bias": drawn(5, seed=7),
    }
    return model(nodes, [floats("x", batch, 3, 8, 8)], [floats("scores", batch, 5)], tensors, opset)


def compute(computed: ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Return a model's outputs by ONNX's reference implementation."""
    made: Sequence[Any] = ReferenceEvaluator(computed).run(None, dict(feeds))
    return list(made)


def evaluate(program: Program, feeds: Mapping[str, Any]) -> list[Any]:
    """Return a program's outputs, as it infers, by ONNX's reference implementation."""
    inferring = as_inference(program)
    names = {entry.name for entry in inferring.inputs}
    return compute(to_model(inferring), {name: value for name, value in feeds.items() if name in names})

"""Small ONNX graphs with a trap each, built by hand, and what they compute by the reference implementation of ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from stackproof.matrix.bringing.torch_origin import CALL, REWRITE, SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

WIDTH = 4

node = helper.make_node


def drawn(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ones(*shape: int) -> NDArray[np.float32]:
    return np.ones(shape, np.float32)


def zeros(*shape: int) -> NDArray[np.float32]:
    return np.zeros(shape, np.float32)


def graph(
    nodes: Iterable[NodeProto], tensors: Mapping[str, NDArray[Any]], shape: Sequence[int] = (3, WIDTH), opset: int = 23
) -> ModelProto:
    """Return a checked model from the input `x` to `y`."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * len(shape))
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in tensors.items()]
    made = helper.make_graph(list(nodes), "small", [x], [y], held)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model


def run(model: ModelProto, x: NDArray[np.float32], **changed: NDArray[Any]) -> NDArray[Any]:
    """Return what a checked model makes of `x`, with some initializers changed."""
    onnx.checker.check_model(model, full_check=True)
    other = onnx.ModelProto()
    other.CopyFrom(model)
    for tensor in other.graph.initializer:
        if tensor.name in changed:
            tensor.CopyFrom(numpy_helper.from_array(changed[tensor.name], tensor.name))
    return np.asarray(ReferenceEvaluator(other).run(["y"], {"x": x})[0])


def values(model: ModelProto) -> dict[str, NDArray[Any]]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def called(made: NodeProto, call: str, rewrite: str = "") -> NodeProto:
    """Return a node with the metadata that PyTorch's exporter writes: the call it was made from."""
    made.metadata_props.add(key=CALL, value=call)
    if rewrite:
        made.metadata_props.add(key=REWRITE, value=rewrite)
    return made


def signed(
    model: ModelProto, parameters: Iterable[str], buffers: Iterable[str] = (), mutated: Iterable[str] = ()
) -> ModelProto:
    """Return a model with the signature that PyTorch's exporter writes; names in calls have underlines and a prefix."""
    lines = [f"p_{name.replace('.', '_')}: PARAMETER target='{name}'" for name in parameters]
    lines += [f"b_{name.replace('.', '_')}: BUFFER target='{name}' persistent=True" for name in buffers]
    lines += [f"getitem: BUFFER_MUTATION target='{name}'" for name in mutated]
    model.graph.metadata_props.add(key=SIGNATURE, value="\n# inputs\n" + "\n".join(lines) + "\nx: USER_INPUT\n")
    model.producer_name, model.producer_version = "pytorch", "2.13.0"
    return model

"""Write examples/own_model.onnx: a small convolutional classifier, as an exporter leaves it, for own_model.toml.

python examples/own_model.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model

NODES = [
    helper.make_node("Conv", ["image", "conv.weight"], ["wide"], pads=[1, 1, 1, 1]),
    helper.make_node(
        "BatchNormalization", ["wide", *(f"norm.{key}" for key in ("weight", "bias", "mean", "var"))], ["even"]
    ),
    helper.make_node("Relu", ["even"], ["active"]),
    helper.make_node("MaxPool", ["active"], ["pooled"], kernel_shape=[4, 4], strides=[4, 4]),
    helper.make_node("Flatten", ["pooled"], ["flat"]),
    helper.make_node("Gemm", ["flat", "head.weight", "head.bias"], ["scores"], transB=1),
]


def main() -> None:
    """Write the file."""
    draw = np.random.default_rng(0).standard_normal
    tensors = {
        "conv.weight": draw((16, 3, 3, 3)) * 0.25,
        "norm.weight": np.ones(16),
        "norm.bias": np.zeros(16),
        "norm.mean": np.zeros(16),
        "norm.var": np.ones(16),
        "head.weight": draw((10, 256)) * 0.02,
        "head.bias": np.zeros(10),
    }
    graph = helper.make_graph(
        NODES,
        "own_model",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 16, 16])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save_model(model, Path(__file__).with_suffix(".onnx"))


if __name__ == "__main__":
    main()

"""The fully connected network."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..spec import Mlp
    from .graph import Graph

_ACTIVATIONS = {"relu": "Relu", "gelu": "Gelu", "tanh": "Tanh"}


def add_model(graph: Graph, model: Mlp, batch: int) -> str:
    """Add `features (batch, inputs) -> logits (batch, outputs)` and return the logits' name."""
    current, width = graph.input("features", "float32", (batch, model.inputs)), model.inputs
    for index, size in enumerate(model.hidden):
        linear = add_linear(graph, f"layer{index}", current, width, size)
        active = graph.add(_ACTIVATIONS[model.activation], (linear,), f"layer{index}.out")
        current, width = graph.dropout(active, f"layer{index}.dropped", model.dropout), size
    return add_linear(graph, "head", current, width, model.outputs, output="logits")


def add_linear(graph: Graph, name: str, source: str, width: int, size: int, output: str = "") -> str:
    """Add an affine layer `(batch, width) -> (batch, size)`.

    Weights have variance 2 / width (He et al., Delving Deep into Rectifiers, 2015, equation 10), biases start at 0.
    """
    weight = graph.uniform(f"{name}.weight", (width, size), math.sqrt(2.0 / width))
    bias = graph.filled(f"{name}.bias", (size,), 0.0)
    return graph.add("Gemm", (source, weight, bias), output or f"{name}.linear")

"""The small convolutional classifier, channels first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .mlp import add_linear

if TYPE_CHECKING:
    from ..spec import Cnn
    from .graph import Graph


def add_model(graph: Graph, model: Cnn, batch: int) -> str:
    """Add `features (batch, channels, height, width) -> logits (batch, outputs)` and return the logits' name."""
    current, depth = graph.input("features", "float32", (batch, *model.image)), model.image[0]
    for index, channels in enumerate(model.channels):
        name = f"block{index}"
        weight = graph.uniform(f"{name}.weight", (channels, depth, 3, 3), math.sqrt(2.0 / (9 * depth)))
        bias = graph.filled(f"{name}.bias", (channels,), 0.0)
        wide = graph.add("Conv", (current, weight, bias), f"{name}.conv", kernel_shape=(3, 3), pads=(1, 1, 1, 1))
        active = graph.add("Relu", (wide,), f"{name}.relu")
        current = graph.add("MaxPool", (active,), f"{name}.out", kernel_shape=(2, 2), strides=(2, 2))
        depth = channels
    mean = graph.add("GlobalAveragePool", (current,), "pooled")
    return add_linear(graph, "head", graph.add("Flatten", (mean,), "flat"), depth, model.outputs, output="logits")

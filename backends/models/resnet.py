"""The residual network of basic blocks (He et al., Deep Residual Learning, 2015, section 3), channels first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .mlp import add_linear

if TYPE_CHECKING:
    from ..spec import Resnet
    from .graph import Graph

_MOMENTUM = 0.9
_EPSILON = 1e-5
_STATISTICS = ("mean", "variance")


def add_model(graph: Graph, model: Resnet, batch: int) -> str:
    """Add `features (batch, channels, height, width) -> logits (batch, outputs)` and return the logits' name."""
    features, depth = graph.input("features", "float32", (batch, *model.image)), model.channels[0]
    stem = _add_convolution(graph, "stem", features, (depth, model.image[0], 3, 3))
    current = graph.add("Relu", (_add_norm(graph, "stem.norm", stem, depth),), "stem.out")
    for stage, (count, channels) in enumerate(zip(model.blocks, model.channels)):
        for index in range(count):
            stride = 2 if stage and not index else 1
            current = _add_block(graph, f"stage{stage}.block{index}", current, (depth, channels, stride))
            depth = channels
    mean = graph.add("GlobalAveragePool", (current,), "pooled")
    return add_linear(graph, "head", graph.add("Flatten", (mean,), "flat"), depth, model.outputs, output="logits")


def _add_block(graph: Graph, name: str, source: str, sizes: tuple[int, int, int]) -> str:
    """Add two convolutions beside a shortcut, which is a projection where the shape changes (option B of the paper)."""
    depth, channels, stride = sizes
    first = _add_convolution(graph, f"{name}.conv0", source, (channels, depth, 3, 3), stride)
    active = graph.add("Relu", (_add_norm(graph, f"{name}.norm0", first, channels),), f"{name}.relu0")
    second = _add_convolution(graph, f"{name}.conv1", active, (channels, channels, 3, 3))
    made, beside = _add_norm(graph, f"{name}.norm1", second, channels), source
    if stride != 1 or depth != channels:
        projected = _add_convolution(graph, f"{name}.shortcut", source, (channels, depth, 1, 1), stride)
        beside = _add_norm(graph, f"{name}.shortcut.norm", projected, channels)
    return graph.add("Relu", (graph.add("Add", (made, beside), f"{name}.sum"),), f"{name}.out")


def _add_convolution(graph: Graph, name: str, source: str, shape: tuple[int, int, int, int], stride: int = 1) -> str:
    """Add a convolution without bias, padded so that stride 1 keeps the image's size."""
    _, depth, *kernel = shape
    weight = graph.uniform(f"{name}.weight", shape, math.sqrt(2.0 / (depth * math.prod(kernel))))
    form = {"kernel_shape": tuple(kernel), "strides": (stride,) * 2, "pads": tuple(size // 2 for size in kernel * 2)}
    return graph.add("Conv", (source, weight), f"{name}.made", **form)


def _add_norm(graph: Graph, name: str, source: str, channels: int) -> str:
    """Add a normalisation over the batch (Ioffe and Szegedy, Batch Normalization, 2015) with its running statistics."""
    scale, bias = graph.filled(f"{name}.scale", (channels,), 1.0), graph.filled(f"{name}.bias", (channels,), 0.0)
    mean, variance = (graph.running(f"{name}.{key}", (channels,), float(key == "variance")) for key in _STATISTICS)
    outputs = (f"{name}.out", f"{name}.mean.next", f"{name}.variance.next")
    settings = {"training_mode": 1, "momentum": _MOMENTUM, "epsilon": _EPSILON}
    graph.add_all("BatchNormalization", (source, scale, bias, mean, variance), outputs, **settings)
    return outputs[0]

"""The residual network (He et al., Deep Residual Learning, 2015, sections 3 and 4.1), channels first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..model_sizes import EXPANSION
from .mlp import add_linear

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..spec import Resnet
    from .graph import Graph

_MOMENTUM = 0.9
_EPSILON = 1e-5
_STATISTICS = ("mean", "variance")


def add_model(graph: Graph, model: Resnet, batch: int) -> str:
    """Add `features (batch, channels, height, width) -> logits (batch, outputs)` and return the logits' name."""
    current, depth, drops = _add_stem(graph, model, batch), model.channels[0], _drops(model)
    for stage, (count, channels) in enumerate(zip(model.blocks, model.channels)):
        for index in range(count):
            stride = 2 if stage and not index else 1
            name, sizes = f"stage{stage}.block{index}", (depth, channels, stride)
            current = _add_block(graph, model, name, current, sizes, next(drops))
            depth = channels * (EXPANSION if model.block == "bottleneck" else 1)
    mean = graph.add("GlobalAveragePool", (current,), "pooled")
    return add_linear(graph, "head", graph.add("Flatten", (mean,), "flat"), depth, model.outputs, output="logits")


def _drops(model: Resnet) -> Iterator[float]:
    """Yield how often each block is dropped, in order (Huang et al., Deep Networks with Stochastic Depth, 2016)."""
    count = sum(model.blocks)
    yield from (model.stochastic_depth * (index + 1) / count for index in range(count))


def _add_stem(graph: Graph, model: Resnet, batch: int) -> str:
    features, depth = graph.input("features", "float32", (batch, *model.image)), model.channels[0]
    if model.stem == "plain":
        stem = add_convolution(graph, "stem", features, (depth, model.image[0], 3, 3))
        return graph.add("Relu", (add_norm(graph, "stem.norm", stem, depth),), "stem.out")
    stem = add_convolution(graph, "stem", features, (depth, model.image[0], 7, 7), 2)
    active = graph.add("Relu", (add_norm(graph, "stem.norm", stem, depth),), "stem.out")
    sides = {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}
    return graph.add("MaxPool", (active,), "stem.pooled", **sides)


def _add_block(graph: Graph, model: Resnet, name: str, source: str, sizes: tuple[int, int, int], drop: float) -> str:
    """Add convolutions beside a shortcut, which is a projection where the shape changes (option B of the paper).

    The stride is that of the first 3x3 convolution.
    """
    depth, channels, stride = sizes
    wide = channels * (EXPANSION if model.block == "bottleneck" else 1)
    forms = [((channels, depth, 3, 3), stride), ((channels, channels, 3, 3), 1)]
    if model.block == "bottleneck":
        forms = [((channels, depth, 1, 1), 1), ((channels, channels, 3, 3), stride), ((wide, channels, 1, 1), 1)]
    made = source
    for index, (shape, step) in enumerate(forms):
        active = graph.add("Relu", (made,), f"{name}.relu{index - 1}") if index else made
        convolved = add_convolution(graph, f"{name}.conv{index}", active, shape, step)
        made = add_norm(graph, f"{name}.norm{index}", convolved, shape[0])
    made, beside = graph.drop_rows(made, f"{name}.dropped", drop), source
    if stride != 1 or depth != wide:
        projected = add_convolution(graph, f"{name}.shortcut", source, (wide, depth, 1, 1), stride)
        beside = add_norm(graph, f"{name}.shortcut.norm", projected, wide)
    return graph.add("Relu", (graph.add("Add", (made, beside), f"{name}.sum"),), f"{name}.out")


def add_convolution(
    graph: Graph,
    name: str,
    source: str,
    shape: tuple[int, int, int, int],
    stride: int = 1,
    *,
    bias: str = "",
) -> str:
    """Add a convolution, padded so that stride 1 keeps the image's size, and without bias where none is named."""
    _, depth, *kernel = shape
    weight = graph.uniform(f"{name}.weight", shape, math.sqrt(2.0 / (depth * math.prod(kernel))))
    form = {"kernel_shape": tuple(kernel), "strides": (stride,) * 2, "pads": tuple(size // 2 for size in kernel * 2)}
    inputs = (source, weight, bias) if bias else (source, weight)
    return graph.add("Conv", inputs, f"{name}.made", **form)


def add_norm(graph: Graph, name: str, source: str, channels: int) -> str:
    """Add a normalisation over the batch (Ioffe and Szegedy, Batch Normalization, 2015) with its running statistics."""
    scale, bias = graph.filled(f"{name}.scale", (channels,), 1.0), graph.filled(f"{name}.bias", (channels,), 0.0)
    mean, variance = (graph.running(f"{name}.{key}", (channels,), float(key == "variance")) for key in _STATISTICS)
    outputs = (f"{name}.out", f"{name}.mean.next", f"{name}.variance.next")
    settings = {"training_mode": 1, "momentum": _MOMENTUM, "epsilon": _EPSILON}
    graph.add_all("BatchNormalization", (source, scale, bias, mean, variance), outputs, **settings)
    return outputs[0]

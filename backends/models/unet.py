"""The U-shaped network that gives each pixel a class (Ronneberger et al., U-Net, 2015, section 2), channels first.

Convolutions are padded, so that the output has the image's size.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .resnet import add_convolution, add_norm

if TYPE_CHECKING:
    from ..spec import Unet
    from .graph import Graph

_HALF = {"kernel_shape": (2, 2), "strides": (2, 2)}


def add_model(graph: Graph, model: Unet, batch: int) -> str:
    """Add `features (batch, channels, height, width) -> logits (batch, outputs, height, width)`."""
    current, depth = graph.input("features", "float32", (batch, *model.image)), model.image[0]
    beside = []
    for level, channels in enumerate(model.channels):
        if level:
            beside.append(current)
            current = graph.add("MaxPool", (current,), f"down{level}.pooled", **_HALF)
        current = _add_pair(graph, model, f"down{level}", current, (depth, channels))
        depth = channels
    for level in reversed(range(len(beside))):
        channels = model.channels[level]
        risen = _add_rise(graph, f"up{level}", current, (depth, channels))
        joined = graph.add("Concat", (beside[level], risen), f"up{level}.joined", axis=1)
        current = _add_pair(graph, model, f"up{level}", joined, (2 * channels, channels))
        depth = channels
    return _add_convolution(graph, "head", current, (model.outputs, depth, 1, 1))


def _add_pair(graph: Graph, model: Unet, name: str, source: str, sizes: tuple[int, int]) -> str:
    """Add two 3x3 convolutions, each with ReLU; a batch norm takes the place of a bias."""
    depth, channels = sizes
    for index in range(2):
        shape, part = (channels, depth, 3, 3), f"{name}.conv{index}"
        if model.norm == "batchnorm":
            made = add_norm(graph, f"{part}.norm", add_convolution(graph, part, source, shape), channels)
        else:
            made = _add_convolution(graph, part, source, shape)
        source, depth = graph.add("Relu", (made,), f"{part}.out"), channels
    return source


def _add_rise(graph: Graph, name: str, source: str, sizes: tuple[int, int]) -> str:
    """Add a transposed convolution that doubles height and width."""
    depth, channels = sizes
    weight = graph.uniform(f"{name}.rise.weight", (depth, channels, 2, 2), math.sqrt(2.0 / depth))
    bias = graph.filled(f"{name}.rise.bias", (channels,), 0.0)
    return graph.add("ConvTranspose", (source, weight, bias), f"{name}.risen", **_HALF)


def _add_convolution(graph: Graph, name: str, source: str, shape: tuple[int, int, int, int]) -> str:
    """Add a convolution with a bias."""
    bias = graph.filled(f"{name}.bias", shape[:1], 0.0)
    return add_convolution(graph, name, source, shape, bias=bias)

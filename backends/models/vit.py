"""The vision transformer (Dosovitskiy et al., An Image is Worth 16x16 Words, 2021, section 3.1)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..model_sizes import tokens
from .transformer import DEVIATION, Form, add_block, add_norm

if TYPE_CHECKING:
    from ..spec import Vit
    from .graph import Graph


def add_model(graph: Graph, model: Vit, batch: int) -> str:
    """Add `features (batch, channels, height, width) -> logits (batch, outputs)` and return the logits' name."""
    form = Form(
        layers=model.layers,
        width=model.width,
        heads=model.heads,
        key_heads=model.heads,
        hidden=model.hidden or 4 * model.width,
        epsilon=1e-6,
        dropout=model.dropout,
    )
    stream = _add_tokens(graph, model, _add_patches(graph, model, batch), batch)
    for index in range(model.layers):
        stream = add_block(graph, form, index, stream)
    chosen = graph.add("Gather", (stream, graph.constant("class.place", np.array(0, np.int64))), "class", axis=1)
    weight = graph.uniform("head.weight", (model.width, model.outputs), DEVIATION)
    bias = graph.filled("head.bias", (model.outputs,), 0.0)
    return graph.add("Gemm", (add_norm(graph, form, "final", chosen), weight, bias), "logits")


def _add_patches(graph: Graph, model: Vit, batch: int) -> str:
    """Add patches through a linear layer, written as a convolution, of shape (batch, patches, width)."""
    features, inputs = graph.input("features", "float32", (batch, *model.image)), model.image[0] * model.patch**2
    shape = (model.width, model.image[0], model.patch, model.patch)
    weight = graph.uniform("patches.weight", shape, math.sqrt(1.0 / inputs))
    bias = graph.filled("patches.bias", (model.width,), 0.0)
    sides = {"kernel_shape": (model.patch,) * 2, "strides": (model.patch,) * 2}
    made = graph.add("Conv", (features, weight, bias), "patches.conv", **sides)
    flat = graph.add("Reshape", (made, graph.integers("patches.shape", batch, model.width, -1)), "patches.flat")
    return graph.add("Transpose", (flat,), "patches", perm=(0, 2, 1))


def _add_tokens(graph: Graph, model: Vit, patches: str, batch: int) -> str:
    """Put the class token before the patches, and add the positions."""
    first = graph.filled("class_token", (1, 1, model.width), 0.0)
    shape = graph.integers("class_token.shape", batch, 1, model.width)
    stream = graph.add("Concat", (graph.add("Expand", (first, shape), "class_tokens"), patches), "joined", axis=1)
    positions = graph.uniform("positions", (tokens(model), model.width), DEVIATION)
    return graph.dropout(graph.add("Add", (stream, positions), "placed"), "embedded.dropped", model.dropout)

"""Decoder-only transformers: gpt, llama and moe, normalising before each sublayer.

Source: Xiong et al., On Layer Normalization in the Transformer Architecture, 2020.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .transformer import DEVIATION, Form, add_block, add_norm, add_rope_tables

if TYPE_CHECKING:
    from ..spec import Gpt
    from .graph import Graph


def add_model(graph: Graph, model: Gpt, batch: int) -> str:
    """Add `tokens (batch, context) -> logits (batch, context, vocabulary)` and return the logits' name."""
    form = form_of(model)
    stream = add_embedding(graph, model, form, batch)
    for index in range(model.layers):
        stream = add_block(graph, form, index, stream)
    return add_head(graph, model, add_norm(graph, form, "final", stream))


def form_of(model: Gpt) -> Form:
    """Return the form of a decoder's blocks.

    Layers that write to the residual stream begin smaller, as in GPT-2 (Radford et al., Language Models are
    Unsupervised Multitask Learners, 2019, section 2.3).
    """
    return Form(
        layers=model.layers,
        width=model.width,
        heads=model.heads,
        key_heads=model.key_heads or model.heads,
        hidden=model.hidden or 4 * model.width,
        norm=model.norm,
        activation=model.activation,
        bias=model.bias,
        rotary=model.position == "rope",
        causal=True,
        residual=DEVIATION / math.sqrt(2.0 * model.layers),
        dropout=model.dropout,
    )


def add_embedding(graph: Graph, model: Gpt, form: Form, batch: int) -> str:
    """Add `tokens (batch, context)` and return the stream's beginning, of shape (batch, context, width)."""
    tokens = graph.input("tokens", "int64", (batch, model.context))
    table = graph.uniform("embedding", (model.vocabulary, model.width), DEVIATION)
    stream = graph.add("Gather", (table, tokens), "embedded", axis=0)
    if model.position == "learned":
        positions = graph.uniform("positions", (model.context, model.width), DEVIATION)
        stream = graph.add("Add", (stream, positions), "placed")
    else:
        add_rope_tables(graph, form, model.rope_base, batch, model.context)
    return graph.dropout(stream, "embedded.dropped", form.dropout)


def add_head(graph: Graph, model: Gpt, source: str) -> str:
    """Add the output layer, which is the embedding where they are tied (Press and Wolf, 2017)."""
    if model.tied:
        head = graph.add("Transpose", ("embedding",), "embedding.transposed", perm=(1, 0))
    else:
        head = graph.uniform("head.weight", (model.width, model.vocabulary), DEVIATION)
    return graph.add("MatMul", (source, head), "logits")

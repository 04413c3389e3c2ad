"""The encoder that fills in masked tokens (Devlin et al., BERT, 2019, section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .transformer import DEVIATION, Form, add_block, add_gelu, add_linear, add_norm

if TYPE_CHECKING:
    from ..spec import Bert
    from .graph import Graph


def add_model(graph: Graph, model: Bert, batch: int) -> str:
    """Add `tokens, segments (batch, context) -> logits (batch, context, vocabulary)` and return the logits' name."""
    form = Form(
        layers=model.layers,
        width=model.width,
        heads=model.heads,
        key_heads=model.heads,
        hidden=model.hidden or 4 * model.width,
        epsilon=1e-12,
        after=True,
        dropout=model.dropout,
    )
    stream = _add_embeddings(graph, model, form, batch)
    for index in range(model.layers):
        stream = add_block(graph, form, index, stream)
    return _add_head(graph, model, form, stream)


def _add_embeddings(graph: Graph, model: Bert, form: Form, batch: int) -> str:
    tokens, segments = (graph.input(name, "int64", (batch, model.context)) for name in ("tokens", "segments"))
    words = graph.uniform("embedding", (model.vocabulary, model.width), DEVIATION)
    parts = graph.uniform("segment_embedding", (model.segments, model.width), DEVIATION)
    stream = graph.add("Gather", (words, tokens), "embedded", axis=0)
    beside = graph.add("Gather", (parts, segments), "segmented", axis=0)
    positions = graph.uniform("positions", (model.context, model.width), DEVIATION)
    placed = graph.add("Add", (graph.add("Add", (stream, beside), "joined"), positions), "placed")
    return graph.dropout(add_norm(graph, form, "embedding", placed), "embedded.dropped", form.dropout)


def _add_head(graph: Graph, model: Bert, form: Form, stream: str) -> str:
    """Add the head of masked tokens: a layer of its own, then the embedding as output layer, with a bias."""
    active = add_gelu(graph, add_linear(graph, form, "head.transform", stream), "head.active")
    source = add_norm(graph, form, "head", active)
    table = graph.add("Transpose", ("embedding",), "embedding.transposed", perm=(1, 0))
    bias = graph.filled("head.bias", (model.vocabulary,), 0.0)
    return graph.add("Add", (graph.add("MatMul", (source, table), "head.product"), bias), "logits")

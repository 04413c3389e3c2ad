"""The decoder-only transformer, normalising before each sublayer (Xiong et al., On Layer Normalization, 2020)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..spec import Gpt
    from .graph import Graph

# Initial deviation of weights, and its reduction for layers that write to the residual stream, as in GPT-2
# (Radford et al., Language Models are Unsupervised Multitask Learners, 2019, section 2.3).
_DEVIATION = 0.02
_ROPE_BASE = 10000.0
_EPSILON = 1e-5


def add_model(graph: Graph, model: Gpt, batch: int) -> str:
    """Add `tokens (batch, context) -> logits (batch, context, vocabulary)` and return the logits' name."""
    tokens = graph.input("tokens", "int64", (batch, model.context))
    table = graph.uniform("embedding", (model.vocabulary, model.width), _DEVIATION)
    stream = graph.add("Gather", (table, tokens), "embedded", axis=0)
    if model.position == "learned":
        positions = graph.uniform("positions", (model.context, model.width), _DEVIATION)
        stream = graph.add("Add", (stream, positions), "placed")
    else:
        _add_rope_tables(graph, model, batch)
    for index in range(model.layers):
        stream = _add_attention(graph, model, f"block{index}.attention", stream)
        stream = _add_feed_forward(graph, model, f"block{index}.feed", stream)
    final = _add_norm(graph, model, "final", stream)
    return _add_head(graph, model, final)


def _add_head(graph: Graph, model: Gpt, source: str) -> str:
    if model.tied:
        head = graph.add("Transpose", ("embedding",), "embedding.transposed", perm=(1, 0))
    else:
        head = graph.uniform("head.weight", (model.width, model.vocabulary), _DEVIATION)
    return graph.add("MatMul", (source, head), "logits")


def _add_rope_tables(graph: Graph, model: Gpt, batch: int) -> None:
    """Add the rotary tables (Su et al., RoFormer, 2021, equation 15), shape (context, head size / 2)."""
    half = model.width // model.heads // 2
    frequencies = np.array([_ROPE_BASE ** (-index / half) for index in range(half)])
    angles = np.arange(model.context)[:, None] * frequencies[None, :]
    graph.constant("rope.cos", np.cos(angles).astype(np.float32))
    graph.constant("rope.sin", np.sin(angles).astype(np.float32))
    places = np.broadcast_to(np.arange(model.context, dtype=np.int64), (batch, model.context))
    graph.constant("rope.positions", np.ascontiguousarray(places))


def _add_attention(graph: Graph, model: Gpt, name: str, stream: str) -> str:
    source = _add_norm(graph, model, name, stream)
    query, key, value = (_add_linear(graph, model, f"{name}.{part}", source) for part in ("query", "key", "value"))
    if model.position == "rope":
        query, key = (_add_rotation(graph, model, part) for part in (query, key))
    heads = {"q_num_heads": model.heads, "kv_num_heads": model.heads}
    mixed = graph.add("Attention", (query, key, value), f"{name}.mixed", is_causal=1, **heads)
    out = _add_linear(graph, model, f"{name}.out", mixed, deviation=_residual(model))
    return graph.add("Add", (stream, out), f"{name}.stream")


def _add_rotation(graph: Graph, model: Gpt, source: str) -> str:
    tables = ("rope.cos", "rope.sin", "rope.positions")
    return graph.add("RotaryEmbedding", (source, *tables), f"{source}.rotated", num_heads=model.heads)


def _add_feed_forward(graph: Graph, model: Gpt, name: str, stream: str) -> str:
    source, hidden = _add_norm(graph, model, name, stream), model.hidden or 4 * model.width
    up = _add_linear(graph, model, f"{name}.up", source, (model.width, hidden))
    if model.activation == "swiglu":
        gate = _add_linear(graph, model, f"{name}.gate", source, (model.width, hidden))
        active = graph.add("Mul", (graph.add("Swish", (gate,), f"{name}.swish"), up), f"{name}.active")
    else:
        active = graph.add("Gelu", (up,), f"{name}.active")
    out = _add_linear(graph, model, f"{name}.down", active, (hidden, model.width), deviation=_residual(model))
    return graph.add("Add", (stream, out), f"{name}.stream")


def _add_linear(
    graph: Graph,
    model: Gpt,
    name: str,
    source: str,
    shape: tuple[int, int] | None = None,
    *,
    deviation: float = _DEVIATION,
) -> str:
    wide, size = shape or (model.width, model.width)
    weight = graph.uniform(f"{name}.weight", (wide, size), deviation)
    product = graph.add("MatMul", (source, weight), f"{name}.product" if model.bias else f"{name}.linear")
    if not model.bias:
        return product
    return graph.add("Add", (product, graph.filled(f"{name}.bias", (size,), 0.0)), f"{name}.linear")


def _add_norm(graph: Graph, model: Gpt, name: str, source: str) -> str:
    scale = graph.filled(f"{name}.norm.scale", (model.width,), 1.0)
    if model.norm == "rmsnorm":
        return graph.add("RMSNormalization", (source, scale), f"{name}.norm", axis=-1, epsilon=_EPSILON)
    bias = graph.filled(f"{name}.norm.bias", (model.width,), 0.0)
    return graph.add("LayerNormalization", (source, scale, bias), f"{name}.norm", axis=-1, epsilon=_EPSILON)


def _residual(model: Gpt) -> float:
    return _DEVIATION / math.sqrt(2.0 * model.layers)

"""The blocks that transformers are made of (Vaswani et al., Attention Is All You Need, 2017, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .graph import Graph

# Initial deviation of weights.
DEVIATION = 0.02


@dataclass(frozen=True)
class Form:
    """What all blocks of one transformer have in common.

    Attributes:
        layers: Number of blocks.
        width: Width of the residual stream.
        heads: Heads of queries.
        key_heads: Heads of keys and values, which divide those of queries.
        hidden: Width of the feed-forward layer.
        norm: `rmsnorm` or `layernorm`.
        epsilon: What a norm adds to the mean square or to the variance.
        activation: `swiglu`, `gelu` or `gelu-tanh`.
        bias: Whether linear layers carry a bias.
        rotary: Whether queries and keys are turned by their places; `add_rope_tables` comes first.
        causal: Whether a token sees no later one.
        after: Whether a sublayer's sum is normalised, as in the paper, instead of its input.
        residual: Initial deviation of layers that write to the residual stream.
        dropout: Share that is dropped of what a sublayer adds to the stream.
    """

    layers: int
    width: int
    heads: int
    key_heads: int
    hidden: int
    norm: str = "layernorm"
    epsilon: float = 1e-5
    activation: str = "gelu"
    bias: bool = True
    rotary: bool = False
    causal: bool = False
    after: bool = False
    residual: float = DEVIATION
    dropout: float = 0.0

    @property
    def head_size(self) -> int:
        """Return the width of one head."""
        return self.width // self.heads


def add_block(graph: Graph, form: Form, index: int, stream: str) -> str:
    """Add block `index` to the stream of shape (batch, tokens, width)."""
    stream = add_attention(graph, form, f"block{index}.attention", stream)
    return add_feed_forward(graph, form, f"block{index}.feed", stream)


def add_rope_tables(graph: Graph, form: Form, base: float, batch: int, context: int) -> None:
    """Add the rotary tables (Su et al., RoFormer, 2021, equation 15), shape (context, head size / 2)."""
    half = form.head_size // 2
    frequencies = np.array([base ** (-index / half) for index in range(half)])
    angles = np.arange(context)[:, None] * frequencies[None, :]
    graph.constant("rope.cos", np.cos(angles).astype(np.float32))
    graph.constant("rope.sin", np.sin(angles).astype(np.float32))
    places = np.broadcast_to(np.arange(context, dtype=np.int64), (batch, context))
    graph.constant("rope.positions", np.ascontiguousarray(places))


def add_attention(graph: Graph, form: Form, name: str, stream: str) -> str:
    """Add attention beside the stream; heads of queries share those of keys (Ainslie et al., GQA, 2023)."""
    source = before(graph, form, name, stream)
    narrow = (form.width, form.key_heads * form.head_size)
    query = add_linear(graph, form, f"{name}.query", source)
    key = add_linear(graph, form, f"{name}.key", source, narrow)
    value = add_linear(graph, form, f"{name}.value", source, narrow)
    if form.rotary:
        query = _add_rotation(graph, query, form.heads)
        key = _add_rotation(graph, key, form.key_heads)
    settings = {"q_num_heads": form.heads, "kv_num_heads": form.key_heads}
    if form.causal:
        settings = {"is_causal": 1, **settings}
    mixed = graph.add("Attention", (query, key, value), f"{name}.mixed", **settings)
    return beside(graph, form, name, stream, add_linear(graph, form, f"{name}.out", mixed, deviation=form.residual))


def _add_rotation(graph: Graph, source: str, heads: int) -> str:
    tables = ("rope.cos", "rope.sin", "rope.positions")
    return graph.add("RotaryEmbedding", (source, *tables), f"{source}.rotated", num_heads=heads)


def add_feed_forward(graph: Graph, form: Form, name: str, stream: str) -> str:
    """Add the feed-forward layer beside the stream; SwiGLU after Shazeer, GLU Variants, 2020."""
    source = before(graph, form, name, stream)
    up = add_linear(graph, form, f"{name}.up", source, (form.width, form.hidden))
    if form.activation == "swiglu":
        gate = add_linear(graph, form, f"{name}.gate", source, (form.width, form.hidden))
        active = graph.add("Mul", (graph.add("Swish", (gate,), f"{name}.swish"), up), f"{name}.active")
    else:
        active = add_gelu(graph, up, f"{name}.active", form.activation)
    shape = (form.hidden, form.width)
    out = add_linear(graph, form, f"{name}.down", active, shape, deviation=form.residual)
    return beside(graph, form, name, stream, out)


def add_gelu(graph: Graph, source: str, output: str, activation: str = "gelu") -> str:
    """Add GELU: exact, or the approximation by tanh (Hendrycks and Gimpel, GELUs, 2016, section 2)."""
    if activation == "gelu-tanh":
        return graph.add("Gelu", (source,), output, approximate="tanh")
    return graph.add("Gelu", (source,), output)


def before(graph: Graph, form: Form, name: str, stream: str) -> str:
    """Return what a sublayer reads: the stream, normalised unless that is done after it."""
    return stream if form.after else add_norm(graph, form, name, stream)


def beside(graph: Graph, form: Form, name: str, stream: str, out: str) -> str:
    """Add what a sublayer made to the stream, and normalise the sum where that is done after it."""
    out = graph.dropout(out, f"{name}.dropped", form.dropout)
    if not form.after:
        return graph.add("Add", (stream, out), f"{name}.stream")
    return add_norm(graph, form, name, graph.add("Add", (stream, out), f"{name}.sum"))


def add_linear(
    graph: Graph,
    form: Form,
    name: str,
    source: str,
    shape: tuple[int, int] | None = None,
    *,
    deviation: float = DEVIATION,
) -> str:
    """Add a linear layer, of shape (width, width) where none is given."""
    wide, size = shape or (form.width, form.width)
    weight = graph.uniform(f"{name}.weight", (wide, size), deviation)
    product = graph.add("MatMul", (source, weight), f"{name}.product" if form.bias else f"{name}.linear")
    if not form.bias:
        return product
    return graph.add("Add", (product, graph.filled(f"{name}.bias", (size,), 0.0)), f"{name}.linear")


def add_norm(graph: Graph, form: Form, name: str, source: str) -> str:
    """Add a normalisation over the width: RMSNorm (Zhang and Sennrich, 2019) or LayerNorm (Ba et al., 2016)."""
    scale = graph.filled(f"{name}.norm.scale", (form.width,), 1.0)
    if form.norm == "rmsnorm":
        return graph.add("RMSNormalization", (source, scale), f"{name}.norm", axis=-1, epsilon=form.epsilon)
    bias = graph.filled(f"{name}.norm.bias", (form.width,), 0.0)
    return graph.add("LayerNormalization", (source, scale, bias), f"{name}.norm", axis=-1, epsilon=form.epsilon)

"""The decoder whose feed-forward layers are mixtures of experts.

Sources: Jiang et al., Mixtral of Experts, 2024, section 2.1; Fedus et al., Switch Transformers, 2021, section 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..spec import as_gpt
from .gpt import add_embedding, add_head, form_of
from .transformer import DEVIATION, Form, add_attention, add_norm, before, beside

if TYPE_CHECKING:
    from ..spec import Moe
    from .graph import Graph


def add_model(graph: Graph, model: Moe, batch: int) -> tuple[str, str]:
    """Add `tokens (batch, context) -> logits (batch, context, vocabulary)`.

    Returns:
        The names of the logits and of the balance loss, a scalar; the latter is empty where `balance` is 0.
    """
    gpt = as_gpt(model)
    form, losses = form_of(gpt), []
    stream = add_embedding(graph, gpt, form, batch)
    _add_numbers(graph, model)
    for index in range(model.layers):
        stream = add_attention(graph, form, f"block{index}.attention", stream)
        stream, loss = _add_experts(graph, model, form, f"block{index}.feed", stream)
        losses.append(loss)
    logits = add_head(graph, gpt, add_norm(graph, form, "final", stream))
    return logits, _add_sum(graph, losses) if model.balance else ""


def _add_numbers(graph: Graph, model: Moe) -> None:
    graph.integers("experts.active", model.active)
    graph.constant("experts.number", np.array(model.experts, np.int64))
    graph.constant("experts.marks", np.array([0.0, 1.0], np.float32))
    graph.integers("experts.rows", 1, -1, model.width)
    graph.integers("experts.axis", 2)
    graph.integers("experts.first", 0)
    graph.integers("experts.last", -1)
    graph.integers("experts.stream", -1, model.context, model.width)


def _add_experts(graph: Graph, model: Moe, form: Form, name: str, stream: str) -> tuple[str, str]:
    """Add a mixture of experts beside the stream: each expert computes every token, and gates choose among them."""
    source = graph.add("Reshape", (before(graph, form, name, stream), "experts.rows"), f"{name}.tokens")
    gates, loss = _add_router(graph, model, name, source)
    shape = (model.experts, model.width, model.hidden)
    up, gate = (
        graph.add("MatMul", (source, graph.uniform(f"{name}.{part}.weight", shape, DEVIATION)), f"{name}.{part}")
        for part in ("up", "gate")
    )
    active = graph.add("Mul", (graph.add("Swish", (gate,), f"{name}.swish"), up), f"{name}.active")
    down = graph.uniform(f"{name}.down.weight", (model.experts, model.hidden, model.width), form.residual)
    made = graph.add("Mul", (graph.add("MatMul", (active, down), f"{name}.down"), gates), f"{name}.gated")
    mixed = graph.add("ReduceSum", (made, "experts.first"), f"{name}.mixed", keepdims=0)
    out = graph.add("Reshape", (mixed, "experts.stream"), f"{name}.out")
    return beside(graph, form, name, stream, out), loss


def _add_router(graph: Graph, model: Moe, name: str, source: str) -> tuple[str, str]:
    """Add the gates, of shape (experts, tokens, 1), and the balance loss, empty where there is none.

    Gates of chosen experts sum to 1; a single one is gated by its share, or its router would never be trained.
    """
    weight = graph.uniform(f"{name}.router.weight", (model.width, model.experts), DEVIATION)
    shares = graph.add("Softmax", (graph.add("MatMul", (source, weight), f"{name}.router"),), f"{name}.shares", axis=-1)
    graph.add_all("TopK", (shares, "experts.active"), (f"{name}.best", f"{name}.chosen"), axis=-1)
    marks = graph.add("OneHot", (f"{name}.chosen", "experts.number", "experts.marks"), f"{name}.marks", axis=-1)
    open_ = graph.add("ReduceSum", (marks, "experts.axis"), f"{name}.open", keepdims=0)
    gates = graph.add("Mul", (shares, open_), f"{name}.gates")
    if model.active > 1:
        total = graph.add("ReduceSum", (gates, "experts.last"), f"{name}.total", keepdims=1)
        gates = graph.add("Div", (gates, total), f"{name}.scaled")
    turned = graph.add("Transpose", (gates,), f"{name}.turned", perm=(2, 1, 0))
    return turned, _add_balance(graph, model, name, shares, open_) if model.balance else ""


def _add_balance(graph: Graph, model: Moe, name: str, shares: str, open_: str) -> str:
    """Add `balance * experts * sum(f * P)` (Switch Transformers, equations 4 to 6).

    For each expert, `f` is its part of all choices, and `P` its mean share.
    """
    axes = graph.integers(f"{name}.axes", 0, 1)
    part = graph.add("ReduceMean", (open_, axes), f"{name}.part", keepdims=0)
    mean = graph.add("ReduceMean", (shares, axes), f"{name}.mean", keepdims=0)
    both = graph.add("ReduceSum", (graph.add("Mul", (part, mean), f"{name}.both"),), f"{name}.sum", keepdims=0)
    weight = np.array(model.balance * model.experts / model.active, np.float32)
    return graph.add("Mul", (both, graph.constant(f"{name}.balance", weight)), f"{name}.loss")


def _add_sum(graph: Graph, losses: list[str]) -> str:
    total = losses[0]
    for index, loss in enumerate(losses[1:], 1):
        total = graph.add("Add", (total, loss), f"balance{index}")
    return total

"""PyTorch rules: attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the framework's own customary name

from ..attending import (
    BIASED,
    CAPPED,
    LENGTHS,
    MASK,
    PAST_KEY,
    SCORES,
    SHARES,
    attending,
    flexible,
    rounds,
    visible,
    wider,
)
from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..attending import Attending

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_RANK_WITH_HEADS = 4


@rule("Attention", "torch")
def _attention(inputs: Inputs, attributes: Attributes) -> Any:
    node = attending(inputs, attributes, "torch")
    query, present_key, present_value = (_with_heads(inputs[place], node.heads(place)) for place in range(MASK))
    if node.past:
        present_key, present_value = (
            torch.cat((inputs[PAST_KEY + place], tensor), dim=2)
            for place, tensor in enumerate((present_key, present_value))
        )
    key, value, scores = (*_shared(query, present_key, present_value), None)
    if _is_fused(query, value, node):
        causal = node.bare and node.causal and query.shape[2] == key.shape[2]
        mask = None if causal else _mask(inputs, query, key, node)
        mixed = F.scaled_dot_product_attention(query, key, value, mask, is_causal=causal, scale=attributes.get("scale"))
    else:
        mixed, scores = _plain(query, key, value, _mask(inputs, query, key, node), node)
    if inputs[0].dim() != _RANK_WITH_HEADS:
        mixed = mixed.transpose(1, 2).reshape(mixed.shape[0], mixed.shape[2], -1)
    return node.outputs(mixed, present_key, present_value, scores)


def _shared(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    """Return keys and values with as many heads as the queries."""
    shared = query.shape[1] // key.shape[1]
    key, value = (
        tensor if shared == 1 else tensor.repeat_interleave(shared, dim=1) for tensor in (key, value.to(query.dtype))
    )
    return key, value


def _is_fused(query: Any, value: Any, node: Attending) -> bool:
    """Say whether PyTorch's own function means the same.

    On a processor it is no faster for float16 tensors, and rounds otherwise than ONNX says.
    """
    half = query.dtype == torch.float16 and query.device.type == "cpu"
    wide = wider(node.attributes, _name(query)) == "float64" != _name(query)
    return not (node.cap or node.wanted[SCORES] or half or wide or value.shape[2] == 0)


def _name(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def _with_heads(tensor: Any, heads: int | None) -> Any:
    """Return `(batch, length, heads * size)` as `(batch, heads, length, size)`."""
    if tensor.dim() == _RANK_WITH_HEADS:
        return tensor
    return tensor.reshape(tensor.shape[0], tensor.shape[1], heads, -1).transpose(1, 2)


def _mask(inputs: Inputs, query: Any, key: Any, node: Attending) -> Any:
    """Return what the kernels take as a mask: a bool tensor of what is seen, or numbers added to the scores."""
    given, seen = optional(inputs, MASK), _seen(optional(inputs, LENGTHS), query, key.shape[2], node)
    if given is None:
        return seen
    given = given if given.dtype == torch.bool else given.to(query.dtype)
    missing = key.shape[2] - given.shape[-1]
    unseen: Any = False if given.dtype == torch.bool else float("-inf")
    whole = F.pad(given, (0, missing), value=unseen) if missing else given
    if seen is None:
        return whole
    return whole & seen if given.dtype == torch.bool else torch.where(seen, whole, unseen)


def _seen(lengths: Any, query: Any, keys: int, node: Attending) -> Any:
    """Return which keys each query sees: (queries, keys), with two more axes where that differs over the batch."""
    queries, positions = query.shape[2], torch.arange(keys, device=query.device)
    places = torch.arange(queries, device=query.device)[:, None]
    if lengths is None:
        return visible(places + node.past, positions, node.attributes)
    lengths = lengths.reshape(-1, 1, 1, 1)
    return visible(places + lengths - queries, positions, node.attributes, lengths)


def _plain(query: Any, key: Any, value: Any, mask: Any, node: Attending) -> tuple[Any, Any]:
    """Attend, and return the scores of the node's mode as well; a query that sees no key gives zeros."""
    by_query, by_key = node.scales(query.shape[-1], _name(query))
    raw = (query * by_query) @ (key if by_key == 1.0 else key * by_key).transpose(-1, -2)
    capped = node.cap * torch.tanh(raw / node.cap) if node.cap else raw
    biased, shares = _shares(capped, mask, getattr(torch, wider(node.attributes, _name(query))))
    shares = shares.to(query.dtype)
    return shares @ value, {CAPPED: capped, BIASED: biased, SHARES: shares}.get(node.mode, raw)


def _shares(scores: Any, mask: Any, dtype: Any) -> tuple[Any, Any]:
    """Return scores with what is added to them, and their softmax."""
    if mask is None:
        return scores, _softmax(scores.to(dtype))
    unseen = ~mask if mask.dtype == torch.bool else torch.isneginf(mask)
    added = scores if mask.dtype == torch.bool else scores + mask.masked_fill(unseen, 0.0)
    blind = unseen.all(-1, keepdim=True)
    seen = torch.where(blind, 0.0, torch.where(unseen & ~blind, float("-inf"), added)).to(dtype)
    return torch.where(unseen, float("-inf"), added), torch.where(blind, 0.0, _softmax(seen))


def _softmax(scores: Any) -> Any:
    if not rounds(_name(scores)):
        return torch.softmax(scores, -1)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True).detach())
    return powers / powers.sum(-1, keepdim=True)


@rule("FlexAttention", "torch")
def _flex(inputs: Inputs, attributes: Attributes) -> Any:
    key, value = _shared(*inputs[:3])
    dtype = getattr(torch, flexible(attributes, _name(inputs[0])))
    scale = attributes.get("scale", key.shape[-1] ** -0.5)
    scores = (inputs[0] @ key.transpose(-1, -2) * scale).to(dtype)
    scores = attributes["score_mod"](scores)[0] if "score_mod" in attributes else scores
    shares = torch.softmax(scores, -1)
    shares = attributes["prob_mod"](shares)[0] if "prob_mod" in attributes else shares
    return (shares @ value.to(dtype)).to(inputs[2].dtype)

"""PyTorch rules: attention and rotary positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the framework's own customary name

from ..errors import UnsupportedError
from ..nodes import allowed_keys, optional, refuse
from ..registry import rule
from .arithmetic import as_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_RANK_WITH_HEADS = 4
_MASK = 3


@rule("Attention", "torch")
def _attention(inputs: Inputs, attributes: Attributes) -> Any:
    refuse("Attention", "torch", attributes, ("softcap",))
    if any(value is not None for value in inputs[_MASK + 1 :]):
        raise UnsupportedError("Attention with a key/value cache has no rule on torch")
    query = _with_heads(inputs[0], attributes.get("q_num_heads"))
    key, value = (_with_heads(tensor, attributes.get("kv_num_heads")) for tensor in inputs[1:_MASK])
    if query.shape[1] != key.shape[1]:
        shared = query.shape[1] // key.shape[1]
        key, value = (tensor.repeat_interleave(shared, dim=1) for tensor in (key, value))
    given = optional(inputs, _MASK)
    causal = given is None and _only_causal(query.shape[2], key.shape[2], attributes)
    mask = None if causal else _mask(given, query, key, attributes)
    mixed = F.scaled_dot_product_attention(query, key, value, mask, is_causal=causal, scale=attributes.get("scale"))
    if inputs[0].dim() == _RANK_WITH_HEADS:
        return mixed
    return mixed.transpose(1, 2).reshape(mixed.shape[0], mixed.shape[2], -1)


def _with_heads(tensor: Any, heads: int | None) -> Any:
    """Return `(batch, length, heads * size)` as `(batch, heads, length, size)`."""
    if tensor.dim() == _RANK_WITH_HEADS:
        return tensor
    return tensor.reshape(tensor.shape[0], tensor.shape[1], heads, -1).transpose(1, 2)


def _only_causal(queries: int, keys: int, attributes: Attributes) -> bool:
    """Say whether the mask is the square causal one, which the fused kernels make themselves."""
    windows = any(attributes.get(f"{side}_window_size", -1) >= 0 for side in ("left", "right"))
    return bool(attributes.get("is_causal", 0)) and queries == keys and not windows


def _mask(given: Any, query: Any, key: Any, attributes: Attributes) -> Any:
    """Return what the kernels take as a mask: a bool tensor of what is seen, or numbers added to the scores."""
    allowed = allowed_keys(query.shape[2], key.shape[2], attributes)
    seen = None if allowed is None else torch.tensor(allowed.tolist(), device=query.device)
    if given is None:
        return seen
    missing = key.shape[2] - given.shape[-1]
    unseen: Any = False if given.dtype == torch.bool else float("-inf")
    whole = F.pad(given, (0, missing), value=unseen) if missing else given
    if seen is None:
        return whole
    return whole & seen if given.dtype == torch.bool else whole.masked_fill(~seen, unseen)


@rule("RotaryEmbedding", "torch")
def _rotary(inputs: Inputs, attributes: Attributes) -> Any:
    data, places = inputs[0], optional(inputs, 3)
    flat = data.dim() != _RANK_WITH_HEADS
    heads = data.reshape(data.shape[0], data.shape[1], attributes["num_heads"], -1) if flat else data.transpose(1, 2)
    size = attributes.get("rotary_embedding_dim", 0) or heads.shape[-1]
    cos, sin = (_table(table, places) for table in inputs[1:3])
    turned = _rotate(heads[..., :size], cos, sin, interleaved=bool(attributes.get("interleaved", 0)))
    turned = torch.cat((turned, heads[..., size:]), dim=-1) if size < heads.shape[-1] else turned
    return turned.reshape(data.shape) if flat else turned.transpose(1, 2)


def _table(table: Any, places: Any) -> Any:
    """Return a table per batch and position, with an axis for the heads: `(batch, length, 1, size / 2)`."""
    chosen = table if places is None else table[as_tensor(places, table)]
    return chosen.unsqueeze(-2)


def _rotate(data: Any, cos: Any, sin: Any, *, interleaved: bool) -> Any:
    if interleaved:
        first, second = data[..., 0::2], data[..., 1::2]
    else:
        first, second = data.chunk(2, dim=-1)
    real, imaginary = first * cos - second * sin, first * sin + second * cos
    if interleaved:
        return torch.stack((real, imaginary), dim=-1).flatten(-2)
    return torch.cat((real, imaginary), dim=-1)

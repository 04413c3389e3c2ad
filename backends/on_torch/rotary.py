"""PyTorch rule: rotary positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..nodes import optional
from ..registry import rule
from .arithmetic import as_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_RANK_WITH_HEADS = 4


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

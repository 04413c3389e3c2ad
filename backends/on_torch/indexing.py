"""PyTorch rules: values selected, and values put, by indices or conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..errors import UnsupportedError
from ..indexing import counted
from ..registry import rule
from ..static import unknown_values
from .arrays import indices_of, ordered_bits, signed_bits, tensor_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_MATRIX = 2


@rule("Gather", "torch")
@signed_bits
def _gather(inputs: Inputs, attributes: Attributes) -> Any:
    data, axis = inputs[0], counted(attributes.get("axis", 0), inputs[0].dim())
    indices = indices_of(inputs[1], data.shape[axis], data)
    if axis == 0:
        return torch.nn.functional.embedding(indices, data) if data.dim() == _MATRIX else data[indices]
    picked = torch.index_select(data, axis, indices.reshape(-1))
    return picked.reshape(*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])


@rule("Where", "torch")
@signed_bits
def _where(inputs: Inputs, _attributes: Attributes) -> Any:
    return torch.where(inputs[0], tensor_of(inputs[1], inputs[0]), tensor_of(inputs[2], inputs[0]))


@rule("NonZero", "torch")
def _non_zero(inputs: Inputs, _attributes: Attributes) -> Any:
    if torch.compiler.is_compiling():
        raise UnsupportedError(unknown_values("NonZero", "torch"))
    return torch.nonzero(ordered_bits(inputs[0]) != ordered_bits(torch.zeros_like(inputs[0]))).T


@rule("TopK", "torch")
def _top_k(inputs: Inputs, attributes: Attributes) -> Any:
    data, count = inputs[0], int(inputs[1][0])
    axis = counted(attributes.get("axis", -1), data.dim())
    keys = ordered_bits(data)
    # The first of equal elements comes first, which `torch.topk` leaves open.
    indices = torch.sort(keys, dim=axis, descending=bool(attributes.get("largest", 1)), stable=True).indices
    taken = indices.narrow(axis, 0, count)
    return signed_bits(lambda values, _: torch.gather(values[0], axis, taken))([data], {}), taken

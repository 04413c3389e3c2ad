"""PyTorch rules: moving and selecting values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..nodes import flattened, optional, reshaped, split_sizes
from ..registry import rule
from .arithmetic import as_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("Gather", "torch")
def _gather(inputs: Inputs, attributes: Attributes) -> Any:
    data, axis = inputs[0], attributes.get("axis", 0) % inputs[0].dim()
    indices = as_tensor(inputs[1], data).long()
    indices = torch.where(indices < 0, indices + data.shape[axis], indices)
    if axis == 0:
        return torch.nn.functional.embedding(indices, data) if data.dim() == 2 else data[indices]  # noqa: PLR2004 - a matrix
    picked = torch.index_select(data, axis, indices.reshape(-1))
    return picked.reshape(*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])


@rule("Reshape", "torch")
def _reshape(inputs: Inputs, attributes: Attributes) -> Any:
    return inputs[0].reshape(reshaped(inputs[0].shape, attributes, inputs[1]))


@rule("Transpose", "torch")
def _transpose(inputs: Inputs, attributes: Attributes) -> Any:
    order = attributes.get("perm") or tuple(reversed(range(inputs[0].dim())))
    return inputs[0].permute(order)


@rule("Flatten", "torch")
def _flatten(inputs: Inputs, attributes: Attributes) -> Any:
    return inputs[0].reshape(flattened(inputs[0].shape, attributes))


@rule("Concat", "torch")
def _concat(inputs: Inputs, attributes: Attributes) -> Any:
    return torch.cat(list(inputs), dim=attributes["axis"])


@rule("Split", "torch")
def _split(inputs: Inputs, attributes: Attributes) -> Any:
    data, axis = inputs[0], attributes.get("axis", 0)
    return tuple(torch.split(data, split_sizes(data.shape[axis], attributes, optional(inputs, 1)), dim=axis))


@rule("Squeeze", "torch")
def _squeeze(inputs: Inputs, _attributes: Attributes) -> Any:
    axes = optional(inputs, 1)
    return inputs[0].squeeze() if axes is None else inputs[0].squeeze(tuple(int(axis) for axis in axes))


@rule("Unsqueeze", "torch")
def _unsqueeze(inputs: Inputs, _attributes: Attributes) -> Any:
    data, rank = inputs[0], inputs[0].dim() + len(inputs[1])
    for axis in sorted(int(axis) % rank for axis in inputs[1]):
        data = data.unsqueeze(axis)
    return data

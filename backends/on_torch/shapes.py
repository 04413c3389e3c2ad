"""PyTorch rules: shapes, and tensors put together, cut or repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..indexing import broadcast_shape, constant_of, counted, fill_value, rising, shape_part, slice_ranges
from ..nodes import flattened, optional, reshaped, split_sizes
from ..registry import rule
from ..values import Narrow
from .arrays import signed_bits, tensor_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("Shape", "torch")
def _shape(inputs: Inputs, attributes: Attributes) -> Any:
    data = inputs[0].values if isinstance(inputs[0], Narrow) else inputs[0]
    return torch.tensor(shape_part(data.shape, attributes), dtype=torch.int64, device=data.device)


@rule("Constant", "torch")
def _constant(_inputs: Inputs, attributes: Attributes) -> Any:
    return tensor_of(constant_of(attributes))


@rule("ConstantOfShape", "torch")
def _constant_of_shape(inputs: Inputs, attributes: Attributes) -> Any:
    value, shape = tensor_of(fill_value(attributes)), inputs[0]
    if isinstance(value, Narrow):
        return Narrow(value.values.expand(shape).clone(), value.dtype)
    return value.expand(shape).clone()


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


@rule("Expand", "torch")
def _expand(inputs: Inputs, _attributes: Attributes) -> Any:
    return inputs[0].expand(broadcast_shape(inputs[0].shape, inputs[1]))


@rule("Tile", "torch")
@signed_bits
def _tile(inputs: Inputs, _attributes: Attributes) -> Any:
    return inputs[0].repeat(inputs[1])


@rule("Concat", "torch")
@signed_bits
def _concat(inputs: Inputs, attributes: Attributes) -> Any:
    return torch.cat([tensor_of(value) for value in inputs], dim=attributes["axis"])


@rule("Split", "torch")
def _split(inputs: Inputs, attributes: Attributes) -> Any:
    data, axis = inputs[0], attributes.get("axis", 0)
    sizes = split_sizes(data.shape[axis], attributes, optional(inputs, 1))
    return tuple(torch.split(data, sizes, dim=axis))


@rule("Squeeze", "torch")
def _squeeze(inputs: Inputs, _attributes: Attributes) -> Any:
    axes = optional(inputs, 1)
    return inputs[0].squeeze() if axes is None else inputs[0].squeeze(tuple(int(axis) for axis in axes))


@rule("Unsqueeze", "torch")
def _unsqueeze(inputs: Inputs, _attributes: Attributes) -> Any:
    data, rank = inputs[0], inputs[0].dim() + len(inputs[1])
    for axis in sorted(counted(int(axis), rank) for axis in inputs[1]):
        data = data.unsqueeze(axis)
    return data


@rule("Slice", "torch")
@signed_bits
def _slice(inputs: Inputs, _attributes: Attributes) -> Any:
    data = inputs[0]
    cuts = [rising(places) for places in slice_ranges(data.shape, inputs[1:])]
    turned = [axis for axis, (_, turn) in enumerate(cuts) if turn]
    taken = data[tuple(cut for cut, _ in cuts)]
    return taken.flip(turned) if turned else taken

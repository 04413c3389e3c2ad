"""PyTorch rules: comparisons, truth values and bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch

from ..registry import rule
from ..values import Narrow
from .arithmetic import pair
from .unsigned import ordered, restored, signed, wrapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_COMPARING: dict[str, Callable[[Any, Any], Any]] = {
    "Equal": torch.eq,
    "Greater": torch.gt,
    "GreaterOrEqual": torch.ge,
    "Less": torch.lt,
    "LessOrEqual": torch.le,
}
_BITS: dict[str, Callable[[Any, Any], Any]] = {
    "And": torch.logical_and,
    "Or": torch.logical_or,
    "Xor": torch.logical_xor,
    "BitwiseAnd": torch.bitwise_and,
    "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor,
}


def _register_comparing(op: str, function: Callable[[Any, Any], Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, _attributes: Attributes) -> Any:
        return function(*map(ordered, pair(inputs)))


def _register_bits(op: str, function: Callable[[Any, Any], Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, _attributes: Attributes) -> Any:
        return function(*pair(inputs))


for _op, _function in _COMPARING.items():
    _register_comparing(_op, _function)
for _op, _function in _BITS.items():
    _register_bits(_op, _function)


@rule("Not", "torch")
def _not(inputs: Inputs, _attributes: Attributes) -> Any:
    return torch.logical_not(inputs[0])


@rule("BitwiseNot", "torch")
def _bitwise_not(inputs: Inputs, _attributes: Attributes) -> Any:
    return wrapping(torch.bitwise_not, inputs[0])


@rule("BitShift", "torch")
def _bit_shift(inputs: Inputs, attributes: Attributes) -> Any:
    """Shift; a count that is negative or reaches the width leaves what the sign alone would."""
    dtype, width = inputs[0].dtype, 8 * inputs[0].dtype.itemsize
    data, count = map(signed, inputs)
    inside = (count >= 0) & (count < width)
    safe = torch.where(inside, count, 0)
    if attributes["direction"] == "LEFT":
        return restored(torch.where(inside, data << safe, 0), dtype)
    if dtype == torch.uint64:
        data, once = torch.where(safe > 0, (data >> 1) & (2**63 - 1), data), torch.where(safe > 0, safe - 1, safe)
        return restored(torch.where(inside, data >> once, 0), dtype)
    return restored(torch.where(inside, data >> safe, torch.where(data < 0, -1, 0).to(data.dtype)), dtype)


@rule("IsInf", "torch")
def _is_inf(inputs: Inputs, attributes: Attributes) -> Any:
    value = inputs[0].values if isinstance(inputs[0], Narrow) else inputs[0]
    above = torch.isposinf(value) & bool(attributes.get("detect_positive", 1))
    return above | (torch.isneginf(value) & bool(attributes.get("detect_negative", 1)))


@rule("IsNaN", "torch")
def _is_nan(inputs: Inputs, _attributes: Attributes) -> Any:
    return torch.isnan(inputs[0].values if isinstance(inputs[0], Narrow) else inputs[0])

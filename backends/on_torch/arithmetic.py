"""PyTorch rules: sums, products, quotients, powers and extremes of elements."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable

import torch

from ..nodes import optional
from ..registry import rule
from .unsigned import divided, restored, selecting, signed, wrapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_WRAPPING: dict[str, Callable[[Any, Any], Any]] = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul}
_SELECTING: dict[str, Callable[[Any, Any], Any]] = {"Max": torch.maximum, "Min": torch.minimum}
_ONE: dict[str, Callable[[Any], Any]] = {"Neg": torch.neg, "Abs": torch.abs, "Sign": torch.sign}
_UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)


def as_tensor(value: Any, beside: Any) -> Any:
    """Return a static numpy constant as a tensor on the device of the tensor beside it."""
    if isinstance(value, torch.Tensor):
        return value
    device = beside.device if isinstance(beside, torch.Tensor) else None
    return torch.as_tensor(value, device=device)


def pair(inputs: Inputs) -> tuple[Any, Any]:
    """Return a node's two inputs as tensors."""
    return as_tensor(inputs[0], inputs[1]), as_tensor(inputs[1], inputs[0])


def _register_wrapping(op: str, function: Callable[[Any, Any], Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, _attributes: Attributes) -> Any:
        return wrapping(function, *pair(inputs))


def _register_selecting(op: str, function: Callable[[Any, Any], Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, _attributes: Attributes) -> Any:
        return functools.reduce(functools.partial(selecting, function), inputs)


def _register_one(op: str, function: Callable[[Any], Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, _attributes: Attributes) -> Any:
        return wrapping(function, inputs[0])


for _op, _two in _WRAPPING.items():
    _register_wrapping(_op, _two)
for _op, _two in _SELECTING.items():
    _register_selecting(_op, _two)
for _op, _one in _ONE.items():
    _register_one(_op, _one)


@rule("Sum", "torch")
def _sum(inputs: Inputs, _attributes: Attributes) -> Any:
    return functools.reduce(torch.add, inputs)


@rule("Mean", "torch")
def _mean(inputs: Inputs, _attributes: Attributes) -> Any:
    return functools.reduce(torch.add, inputs) / len(inputs)


@rule("Div", "torch")
def _div(inputs: Inputs, _attributes: Attributes) -> Any:
    """Divide; integers towards zero."""
    left, right = pair(inputs)
    return torch.div(left, right) if left.dtype.is_floating_point else divided(left, right)[0]


@rule("Reciprocal", "torch")
def _reciprocal(inputs: Inputs, _attributes: Attributes) -> Any:
    return torch.reciprocal(inputs[0])


@rule("Mod", "torch")
def _mod(inputs: Inputs, attributes: Attributes) -> Any:
    left, right = pair(inputs)
    if left.dtype.is_floating_point:
        return torch.fmod(left, right) if attributes.get("fmod", 0) else _floored(left, right)
    rest = divided(left, right)[1]
    if attributes.get("fmod", 0) or left.dtype in _UNSIGNED:
        return rest
    return torch.where((rest != 0) & ((rest < 0) != (right < 0)), rest + right, rest)


def _floored(left: Any, right: Any) -> Any:
    rest = torch.remainder(left, right)
    return torch.where(rest == 0, torch.copysign(rest, right), rest)


@rule("Pow", "torch")
def _pow(inputs: Inputs, _attributes: Attributes) -> Any:
    base, exponent = pair(inputs)
    if base.dtype.is_floating_point:
        return torch.pow(base, exponent.to(base.dtype) if exponent.dtype in _UNSIGNED else exponent).to(base.dtype)
    if exponent.dtype.is_floating_point:
        return torch.pow(base.double(), exponent.double()).to(base.dtype)
    return restored(torch.pow(signed(base).long(), signed(exponent).long()), base.dtype)


@rule("Clip", "torch")
def _clip(inputs: Inputs, _attributes: Attributes) -> Any:
    low, high = optional(inputs, 1), optional(inputs, 2)
    given = [value for value in (low, high) if value is not None]
    if not given:
        return inputs[0]

    def clamp(value: Any, *bounds: Any) -> Any:
        left = iter(bounds)
        return torch.clamp(value, None if low is None else next(left), None if high is None else next(left))

    return selecting(clamp, inputs[0], *given)

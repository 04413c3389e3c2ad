"""PyTorch rules: elementary functions of one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "Log": torch.log,
    "Round": torch.round,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Sqrt": torch.sqrt,
    "Tan": torch.tan,
    "Tanh": torch.tanh,
}


def _register(op: str, function: Callable[[Any], Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, _attributes: Attributes) -> Any:
        value = inputs[0]
        return function(value) if value.dtype.is_floating_point else function(value.double()).to(value.dtype)


for _op, _function in _FUNCTIONS.items():
    _register(_op, _function)


@rule("Identity", "torch")
def _identity(inputs: Inputs, _attributes: Attributes) -> Any:
    return inputs[0]


@rule("Size", "torch")
def _size(inputs: Inputs, _attributes: Attributes) -> Any:
    return torch.tensor(inputs[0].numel(), dtype=torch.int64, device=inputs[0].device)

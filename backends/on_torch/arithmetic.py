"""PyTorch rules: element-wise arithmetic, casts and reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch
import torch.nn.functional as F  # noqa: N812 - the framework's own customary name

from ..nodes import cast_type, reduced_axes
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": torch.add,
    "Sub": torch.sub,
    "Mul": torch.mul,
    "MatMul": torch.matmul,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "Neg": torch.neg,
    "Exp": torch.exp,
    "Log": torch.log,
    "Sqrt": torch.sqrt,
    "Relu": torch.relu,
    "Tanh": torch.tanh,
    "Sigmoid": torch.sigmoid,
    "Identity": lambda value: value,
}


def _register_binary(op: str, function: Callable[[Any, Any], Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, _attributes: Attributes) -> Any:
        left, right = inputs
        return function(as_tensor(left, right), as_tensor(right, left))


def _register_unary(op: str, function: Callable[[Any], Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, _attributes: Attributes) -> Any:
        return function(inputs[0])


def as_tensor(value: Any, beside: Any) -> Any:
    """Return a static numpy constant as a tensor on the device of the tensor beside it."""
    if isinstance(value, torch.Tensor):
        return value
    device = beside.device if isinstance(beside, torch.Tensor) else None
    return torch.as_tensor(value, device=device)


for _op, _function in _BINARY.items():
    _register_binary(_op, _function)
for _op, _unary in _UNARY.items():
    _register_unary(_op, _unary)


@rule("Pow", "torch")
def _pow(inputs: Inputs, _attributes: Attributes) -> Any:
    base, exponent = as_tensor(inputs[0], inputs[1]), as_tensor(inputs[1], inputs[0])
    return torch.pow(base, exponent).to(base.dtype)


@rule("Div", "torch")
def _div(inputs: Inputs, _attributes: Attributes) -> Any:
    left, right = as_tensor(inputs[0], inputs[1]), as_tensor(inputs[1], inputs[0])
    return torch.div(left, right, rounding_mode=None if left.dtype.is_floating_point else "trunc")


@rule("Gelu", "torch")
def _gelu(inputs: Inputs, attributes: Attributes) -> Any:
    return F.gelu(inputs[0], approximate=attributes.get("approximate", "none"))


@rule("Swish", "torch")
def _swish(inputs: Inputs, attributes: Attributes) -> Any:
    alpha = attributes.get("alpha", 1.0)
    return F.silu(inputs[0]) if alpha == 1.0 else inputs[0] * torch.sigmoid(alpha * inputs[0])


@rule("Cast", "torch")
def _cast(inputs: Inputs, attributes: Attributes) -> Any:
    return inputs[0].to(getattr(torch, cast_type(attributes, "torch")))


@rule("Softmax", "torch")
def _softmax(inputs: Inputs, attributes: Attributes) -> Any:
    return torch.softmax(inputs[0], attributes.get("axis", -1))


@rule("LogSoftmax", "torch")
def _log_softmax(inputs: Inputs, attributes: Attributes) -> Any:
    return torch.log_softmax(inputs[0], attributes.get("axis", -1))


def _register_reduction(op: str, function: Callable[..., Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, attributes: Attributes) -> Any:
        value = inputs[0]
        axes = reduced_axes(value.dim(), attributes, inputs[1] if len(inputs) > 1 else None)
        if not axes:
            return value
        return function(value, dim=axes, keepdim=bool(attributes.get("keepdims", 1)))


_register_reduction("ReduceMean", torch.mean)
_register_reduction("ReduceSum", torch.sum)

"""PyTorch rules: activation functions.

Where a function has a corner, its slope there is that of the lower side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch
import torch.nn.functional as F  # noqa: N812 - the framework's own customary name

from ..activations import ELU_ALPHA, LEAKY_ALPHA, SELU_ALPHA, SELU_GAMMA, hard_slope
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

# From here on softplus is its argument in every precision.
_LINEAR_FROM = 40


def _shaped(op: str, function: Callable[[Any, Attributes], Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, attributes: Attributes) -> Any:
        return function(inputs[0], attributes)


_shaped("Sigmoid", lambda data, _: torch.sigmoid(data))
_shaped("Softplus", lambda data, _: F.softplus(data, threshold=_LINEAR_FROM))
_shaped("Softsign", lambda data, _: data / (1 + torch.abs(data)))
_shaped("Mish", lambda data, _: F.mish(data))
_shaped("LeakyRelu", lambda data, given: F.leaky_relu(data, given.get("alpha", LEAKY_ALPHA)))
_shaped("Elu", lambda data, given: F.elu(data, given.get("alpha", ELU_ALPHA)))
_shaped("Celu", lambda data, given: F.celu(data, given.get("alpha", ELU_ALPHA)))
_shaped("ThresholdedRelu", lambda data, given: torch.where(data > given.get("alpha", 1.0), data, 0))
_shaped("Gelu", lambda data, given: F.gelu(data, approximate=given.get("approximate", "none")))
_shaped("Softmax", lambda data, given: torch.softmax(data, given.get("axis", -1)))
_shaped("LogSoftmax", lambda data, given: torch.log_softmax(data, given.get("axis", -1)))


@rule("Relu", "torch")
def _relu(inputs: Inputs, _attributes: Attributes) -> Any:
    return torch.relu(inputs[0])


@rule("Selu", "torch")
def _selu(inputs: Inputs, attributes: Attributes) -> Any:
    return attributes.get("gamma", SELU_GAMMA) * F.elu(inputs[0], attributes.get("alpha", SELU_ALPHA))


@rule("HardSigmoid", "torch")
def _hard_sigmoid(inputs: Inputs, attributes: Attributes) -> Any:
    slope, shift = hard_slope(attributes)
    return torch.clamp(slope * inputs[0] + shift, 0, 1)


@rule("HardSwish", "torch")
def _hard_swish(inputs: Inputs, _attributes: Attributes) -> Any:
    return inputs[0] * torch.clamp(inputs[0] / 6 + 0.5, 0, 1)


@rule("PRelu", "torch")
def _prelu(inputs: Inputs, _attributes: Attributes) -> Any:
    data, slope = inputs
    return torch.where(data > 0, data, slope * data)


@rule("Shrink", "torch")
def _shrink(inputs: Inputs, attributes: Attributes) -> Any:
    data, edge, bias = inputs[0], attributes.get("lambd", 0.5), attributes.get("bias", 0.0)
    wide = data if data.dtype.is_floating_point else data.double()
    inner = torch.where(wide > edge, wide - bias, 0)
    return torch.where(wide < -edge, wide + bias, inner).to(data.dtype)


@rule("Swish", "torch")
def _swish(inputs: Inputs, attributes: Attributes) -> Any:
    return _gated(inputs[0], attributes)


@rule("SwiGLU", "torch")
def _swiglu(inputs: Inputs, attributes: Attributes) -> Any:
    return _gated(inputs[0], attributes) * inputs[1]


def _gated(data: Any, attributes: Attributes) -> Any:
    alpha = attributes.get("alpha", 1.0)
    return F.silu(data) if alpha == 1.0 else data * torch.sigmoid(alpha * data)


@rule("Hardmax", "torch")
def _hardmax(inputs: Inputs, attributes: Attributes) -> Any:
    data, axis = inputs[0], attributes.get("axis", -1)
    return torch.zeros_like(data).scatter(axis, torch.argmax(data, axis, keepdim=True), 1)

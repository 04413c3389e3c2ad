"""JAX rules: activation functions.

Where a function has a corner, its slope there is that of the lower side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import jax
import jax.numpy as jnp

from ..activations import ELU_ALPHA, LEAKY_ALPHA, SELU_ALPHA, SELU_GAMMA, hard_slope
from ..registry import rule
from .arithmetic import clipped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


def _shaped(op: str, function: Callable[[Array, Attributes], Array]) -> None:
    @rule(op, "jax")
    def apply(inputs: Inputs, attributes: Attributes) -> Array:
        return function(inputs[0], attributes)


def _gated(data: Array, attributes: Attributes) -> Array:
    return data * jax.nn.sigmoid(attributes.get("alpha", 1.0) * data)


_shaped("Relu", lambda data, _: jax.nn.relu(data))
_shaped("Sigmoid", lambda data, _: jax.nn.sigmoid(data))
_shaped("Softplus", lambda data, _: jax.nn.softplus(data))
_shaped("Softsign", lambda data, _: data / (1 + jnp.abs(data)))
_shaped("Mish", lambda data, _: data * jnp.tanh(jax.nn.softplus(data)))
_shaped("LeakyRelu", lambda data, given: jnp.where(data > 0, data, given.get("alpha", LEAKY_ALPHA) * data))
_shaped("Elu", lambda data, given: _elu(data, given.get("alpha", ELU_ALPHA)))
_shaped("ThresholdedRelu", lambda data, given: jnp.where(data > given.get("alpha", 1.0), data, 0))
_shaped("Gelu", lambda data, given: jax.nn.gelu(data, approximate=given.get("approximate", "none") == "tanh"))
_shaped("Softmax", lambda data, given: jax.nn.softmax(data, axis=given.get("axis", -1)))
_shaped("LogSoftmax", lambda data, given: jax.nn.log_softmax(data, axis=given.get("axis", -1)))
_shaped("Swish", _gated)
_shaped("HardSwish", lambda data, _: data * clipped(data / 6 + 0.5, 0.0, 1.0))


def _elu(data: Array, alpha: float, width: float = 1.0) -> Array:
    low = jnp.where(data > 0, 0.0, data)
    return jnp.where(data > 0, data, alpha * jnp.expm1(low / width))


@rule("Celu", "jax")
def _celu(inputs: Inputs, attributes: Attributes) -> Array:
    alpha = attributes.get("alpha", ELU_ALPHA)
    return _elu(inputs[0], alpha, alpha)


@rule("Selu", "jax")
def _selu(inputs: Inputs, attributes: Attributes) -> Array:
    return attributes.get("gamma", SELU_GAMMA) * _elu(inputs[0], attributes.get("alpha", SELU_ALPHA))


@rule("HardSigmoid", "jax")
def _hard_sigmoid(inputs: Inputs, attributes: Attributes) -> Array:
    slope, shift = hard_slope(attributes)
    return clipped(slope * inputs[0] + shift, 0.0, 1.0)


@rule("PRelu", "jax")
def _prelu(inputs: Inputs, _attributes: Attributes) -> Array:
    data, slope = inputs
    return jnp.where(data > 0, data, slope * data)


@rule("Shrink", "jax")
def _shrink(inputs: Inputs, attributes: Attributes) -> Array:
    data, edge, bias = inputs[0], attributes.get("lambd", 0.5), attributes.get("bias", 0.0)
    inner = jnp.where(data > edge, data - bias, 0)
    return jnp.where(data < -edge, data + bias, inner).astype(data.dtype)


@rule("SwiGLU", "jax")
def _swiglu(inputs: Inputs, attributes: Attributes) -> Array:
    return _gated(inputs[0], attributes) * inputs[1]


@rule("Hardmax", "jax")
def _hardmax(inputs: Inputs, attributes: Attributes) -> Array:
    data, axis = inputs[0], attributes.get("axis", -1)
    return jax.nn.one_hot(jnp.argmax(data, axis), data.shape[axis], dtype=data.dtype, axis=axis)

"""TensorFlow rules: activation functions.

Where a function has a corner, its slope there is that of the lower side. Those of the framework whose constants are
rounded to float32 are written out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

from ..activations import ELU_ALPHA, LEAKY_ALPHA, SELU_ALPHA, SELU_GAMMA, hard_slope
from ..registry import rule
from .arithmetic import clipped, where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


def _shaped(op: str, function: Callable[[tf.Tensor, Attributes], tf.Tensor]) -> None:
    @rule(op, "tensorflow")
    def apply(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
        return function(inputs[0], attributes)


def _gated(data: tf.Tensor, attributes: Attributes) -> tf.Tensor:
    return data * tf.sigmoid(attributes.get("alpha", 1.0) * data)


_shaped("Relu", lambda data, _: tf.nn.relu(data))
_shaped("Sigmoid", lambda data, _: tf.sigmoid(data))
_shaped("Softplus", lambda data, _: tf.nn.softplus(data))
_shaped("Softsign", lambda data, _: tf.nn.softsign(data))
_shaped("Mish", lambda data, _: data * tf.tanh(tf.nn.softplus(data)))
_shaped("LeakyRelu", lambda data, given: where(data > 0, data, given.get("alpha", LEAKY_ALPHA) * data))
_shaped("Elu", lambda data, given: _elu(data, given.get("alpha", ELU_ALPHA)))
_shaped("ThresholdedRelu", lambda data, given: where(data > given.get("alpha", 1.0), data, 0))
_shaped("Softmax", lambda data, given: tf.nn.softmax(data, axis=given.get("axis", -1)))
_shaped("LogSoftmax", lambda data, given: tf.nn.log_softmax(data, axis=given.get("axis", -1)))
_shaped("Swish", _gated)
_shaped("HardSwish", lambda data, _: data * clipped(data / 6 + 0.5, 0.0, 1.0))


@rule("Gelu", "tensorflow")
def _gelu(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data = inputs[0]
    if attributes.get("approximate", "none") == "tanh":
        share = 1.0 + tf.tanh(math.sqrt(2.0 / math.pi) * (data + 0.044715 * data * data * data))
    else:
        share = tf.math.erfc(data * -math.sqrt(0.5))
    return 0.5 * data * share


def _elu(data: tf.Tensor, alpha: float, width: float = 1.0) -> tf.Tensor:
    low = where(data > 0, 0.0, data)
    return tf.where(data > 0, data, alpha * tf.math.expm1(low / width))


@rule("Celu", "tensorflow")
def _celu(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    alpha = attributes.get("alpha", ELU_ALPHA)
    return _elu(inputs[0], alpha, alpha)


@rule("Selu", "tensorflow")
def _selu(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return attributes.get("gamma", SELU_GAMMA) * _elu(inputs[0], attributes.get("alpha", SELU_ALPHA))


@rule("HardSigmoid", "tensorflow")
def _hard_sigmoid(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    slope, shift = hard_slope(attributes)
    return clipped(slope * inputs[0] + shift, 0.0, 1.0)


@rule("PRelu", "tensorflow")
def _prelu(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    data, slope = inputs
    return tf.where(data > 0, data, slope * data)


@rule("Shrink", "tensorflow")
def _shrink(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    edge, bias = attributes.get("lambd", 0.5), attributes.get("bias", 0.0)
    data = inputs[0] if inputs[0].dtype.is_floating else tf.cast(inputs[0], tf.float64)
    inner = where(data > edge, data - bias, 0.0)
    return tf.cast(tf.where(data < -edge, data + bias, inner), inputs[0].dtype)


@rule("SwiGLU", "tensorflow")
def _swiglu(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return _gated(inputs[0], attributes) * inputs[1]


@rule("Hardmax", "tensorflow")
def _hardmax(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    data, axis = inputs[0], attributes.get("axis", -1)
    return tf.one_hot(tf.argmax(data, axis), data.shape[axis], axis=axis, dtype=data.dtype)

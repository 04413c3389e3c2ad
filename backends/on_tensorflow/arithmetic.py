"""TensorFlow rules: elementwise functions, matrix products, reductions and softmax.

A Python number beside a tensor takes the tensor's dtype; `tf.cast` of one goes through float32, so it is not used.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

from ..nodes import cast_type, optional, reduced_axes
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_UNARY: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "Exp": tf.exp,
    "Identity": tf.identity,
    "Log": tf.math.log,
    "Neg": tf.negative,
    "Relu": tf.nn.relu,
    "Sigmoid": tf.sigmoid,
    "Sqrt": tf.sqrt,
    "Tanh": tf.tanh,
}
_BINARY: dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    "Add": tf.add,
    "Mul": tf.multiply,
    "Sub": tf.subtract,
}
_MATRIX = 2


def _unary(function: Callable[[tf.Tensor], tf.Tensor]) -> Callable[[Inputs, Attributes], tf.Tensor]:
    return lambda inputs, _attributes: function(inputs[0])


def _binary(function: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]) -> Callable[[Inputs, Attributes], tf.Tensor]:
    return lambda inputs, _attributes: function(inputs[0], inputs[1])


for _op, _one in _UNARY.items():
    rule(_op, "tensorflow")(_unary(_one))
for _op, _two in _BINARY.items():
    rule(_op, "tensorflow")(_binary(_two))


@rule("Div", "tensorflow")
def _div(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    """Divide; integers towards zero."""
    left, right = (tf.convert_to_tensor(value) for value in inputs)
    return left / right if left.dtype.is_floating else tf.truncatediv(left, right)


@rule("Pow", "tensorflow")
def _pow(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    base, exponent = (tf.convert_to_tensor(value) for value in inputs)
    if base.dtype.is_floating or exponent.dtype.is_integer:
        return tf.pow(base, tf.cast(exponent, base.dtype))
    return tf.cast(tf.pow(tf.cast(base, tf.float64), tf.cast(exponent, tf.float64)), base.dtype)


@rule("Gelu", "tensorflow")
def _gelu(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    """Written out: the constants of `tf.nn.gelu` are rounded to float32."""
    data = inputs[0]
    if attributes.get("approximate", "none") == "tanh":
        share = 1.0 + tf.tanh(math.sqrt(2.0 / math.pi) * (data + 0.044715 * data * data * data))
    else:
        share = tf.math.erfc(data * -math.sqrt(0.5))
    return 0.5 * data * share


@rule("Swish", "tensorflow")
def _swish(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return inputs[0] * tf.sigmoid(attributes.get("alpha", 1.0) * inputs[0])


@rule("Cast", "tensorflow")
def _cast(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.cast(tf.convert_to_tensor(inputs[0]), cast_type(attributes, "tensorflow"))


@rule("MatMul", "tensorflow")
def _matmul(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    left, right = inputs
    if left.shape.rank == 1:
        return tf.squeeze(_product(left[tf.newaxis, :], right), -1 if right.shape.rank == 1 else -2)
    return _product(left, right)


def _product(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """Multiply; a stack of matrices by one matrix is one product of two."""
    if right.shape.rank == 1:
        return tf.linalg.matvec(left, right)
    if right.shape.rank > _MATRIX or left.shape.rank == _MATRIX:
        return tf.matmul(left, right)
    flat = tf.matmul(tf.reshape(left, (-1, left.shape[-1])), right)
    return tf.reshape(flat, (*left.shape[:-1], right.shape[-1]))


@rule("Gemm", "tensorflow")
def _gemm(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    turned = {"transpose_a": bool(attributes.get("transA", 0)), "transpose_b": bool(attributes.get("transB", 0))}
    alpha, beta, added = attributes.get("alpha", 1.0), attributes.get("beta", 1.0), optional(inputs, 2)
    product = tf.matmul(inputs[0], inputs[1], **turned)
    product = product if alpha == 1.0 else alpha * product
    if added is None:
        return product
    return product + (added if beta == 1.0 else beta * added)


@rule("Softmax", "tensorflow")
def _softmax(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.nn.softmax(inputs[0], axis=attributes.get("axis", -1))


@rule("LogSoftmax", "tensorflow")
def _log_softmax(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    return tf.nn.log_softmax(inputs[0], axis=attributes.get("axis", -1))


@rule("ReduceMean", "tensorflow")
def _reduce_mean(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    axes = reduced_axes(inputs[0].shape.rank, attributes, optional(inputs, 1))
    return tf.reduce_mean(inputs[0], axis=axes, keepdims=bool(attributes.get("keepdims", 1)))


@rule("ReduceSum", "tensorflow")
def _reduce_sum(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    axes = reduced_axes(inputs[0].shape.rank, attributes, optional(inputs, 1))
    return tf.reduce_sum(inputs[0], axis=axes, keepdims=bool(attributes.get("keepdims", 1)))

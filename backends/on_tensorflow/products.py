"""TensorFlow rules: products of matrices, sums over products, determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

from ..einsums import explicit
from ..nodes import optional
from ..registry import rule
from .arithmetic import where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_MATRIX = 2
# The integers that the framework multiplies matrices of.
_WHOLE = (tf.int32, tf.int64)


def _wrapping(function: Callable[..., tf.Tensor], *values: tf.Tensor) -> tf.Tensor:
    """Apply a function whose low bits depend on low bits only, on 64 bits where the dtype has no such function."""
    dtype = values[0].dtype
    if dtype.is_floating or dtype.is_complex or dtype in _WHOLE:
        return function(*values)
    return tf.cast(function(*(tf.cast(value, tf.int64) for value in values)), dtype)


@rule("MatMul", "tensorflow")
def _matmul(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    return matmul(inputs[0], inputs[1])


def matmul(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """Multiply as numpy does, in any dtype."""
    return _wrapping(_ranked, left, right)


def _ranked(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
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
    product = _wrapping(lambda left, right: tf.matmul(left, right, **turned), inputs[0], inputs[1])
    product = product if alpha == 1.0 else _scaled(alpha, product)
    if added is None:
        return product
    added = added if beta == 1.0 else _scaled(beta, added)
    # TensorFlow has a kernel for the gradient of a bias, and none for a sum over rows.
    whole = added.shape.rank == 1 and added.shape[0] == product.shape[1] and product.dtype.is_floating
    return tf.nn.bias_add(product, added) if whole else product + added


def _scaled(factor: float, value: tf.Tensor) -> tf.Tensor:
    return factor * value if value.dtype.is_floating else tf.cast(factor * tf.cast(value, tf.float64), value.dtype)


@rule("Einsum", "tensorflow")
def _einsum(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
    equation = explicit(attributes["equation"])
    return _wrapping(lambda *factors: tf.einsum(equation, *factors), *inputs)


@rule("Det", "tensorflow")
def _det(inputs: Inputs, _attributes: Attributes) -> tf.Tensor:
    data = inputs[0]
    wide = data if data.dtype == tf.float64 else tf.cast(data, tf.float32)
    return tf.cast(tf.linalg.det(wide) if tf.executing_eagerly() else _eliminated(wide), data.dtype)


def _eliminated(rest: tf.Tensor) -> tf.Tensor:
    """Return determinants by Gaussian elimination: XLA has no such operator."""
    product = tf.ones_like(rest[..., 0, 0])
    for size in range(rest.shape[-1], 0, -1):
        place = tf.argmax(tf.abs(rest[..., 0]), -1)
        chosen = tf.one_hot(place, size, dtype=rest.dtype)[..., tf.newaxis]
        row = tf.reduce_sum(chosen * rest, -2, keepdims=True)
        rest = rest + chosen * (rest[..., :1, :] - row)
        pivot = row[..., :1]
        product = product * where(place == 0, pivot[..., 0, 0], -pivot[..., 0, 0])
        rest = rest[..., 1:, 1:] - rest[..., 1:, :1] * (row[..., 1:] / where(pivot == 0.0, 1.0, pivot))
    return product

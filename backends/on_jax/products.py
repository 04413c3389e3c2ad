"""JAX rules: products of matrices, sums over products, determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from ..einsums import explicit
from ..nodes import optional
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("MatMul", "jax")
def _matmul(inputs: Inputs, _attributes: Attributes) -> Array:
    return matmul(inputs[0], inputs[1])


def matmul(left: Array, right: Array) -> Array:
    """Multiply as numpy does, in any dtype."""
    return jnp.matmul(left, right)


@rule("Gemm", "jax")
def _gemm(inputs: Inputs, attributes: Attributes) -> Array:
    left = inputs[0].T if attributes.get("transA", 0) else inputs[0]
    right = inputs[1].T if attributes.get("transB", 0) else inputs[1]
    alpha, beta, added = attributes.get("alpha", 1.0), attributes.get("beta", 1.0), optional(inputs, 2)
    product = left @ right if alpha == 1.0 else alpha * (left @ right)
    if added is not None:
        product = product + (added if beta == 1.0 else beta * added)
    return product.astype(left.dtype)


@rule("Einsum", "jax")
def _einsum(inputs: Inputs, attributes: Attributes) -> Array:
    return jnp.einsum(explicit(attributes["equation"]), *inputs).astype(inputs[0].dtype)


@rule("Det", "jax")
def _det(inputs: Inputs, _attributes: Attributes) -> Array:
    data = inputs[0]
    wide = data if data.dtype == jnp.float64 else data.astype(jnp.float32)
    return jnp.linalg.det(wide).astype(data.dtype)

"""JAX rules: elementwise functions, matrix products, reductions and softmax.

Numbers written in Python keep a tensor's dtype; numpy scalars would promote it, so there are none here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UnsupportedError
from ..nodes import cast_type, optional, reduced_axes
from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

_UNARY: dict[str, Callable[[Array], Array]] = {
    "Exp": jnp.exp,
    "Identity": jnp.asarray,
    "Log": jnp.log,
    "Neg": jnp.negative,
    "Relu": jax.nn.relu,
    "Sigmoid": jax.nn.sigmoid,
    "Sqrt": jnp.sqrt,
    "Tanh": jnp.tanh,
}
_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": jnp.add,
    "MatMul": jnp.matmul,
    "Mul": jnp.multiply,
    "Sub": jnp.subtract,
}


def _unary(function: Callable[[Array], Array]) -> Callable[[Inputs, Attributes], Array]:
    return lambda inputs, _attributes: function(inputs[0])


def _binary(function: Callable[[Array, Array], Array]) -> Callable[[Inputs, Attributes], Array]:
    return lambda inputs, _attributes: function(inputs[0], inputs[1])


for _op, _one in _UNARY.items():
    rule(_op, "jax")(_unary(_one))
for _op, _two in _BINARY.items():
    rule(_op, "jax")(_binary(_two))


@rule("Div", "jax")
def _div(inputs: Inputs, _attributes: Attributes) -> Array:
    """Divide; integers towards zero."""
    left, right = jnp.broadcast_arrays(*inputs)
    return jax.lax.div(left, right)


@rule("Pow", "jax")
def _pow(inputs: Inputs, _attributes: Attributes) -> Array:
    base, exponent = (jnp.asarray(value) for value in inputs)
    mixed = jnp.issubdtype(base.dtype, jnp.integer) and jnp.issubdtype(exponent.dtype, jnp.floating)
    wide = base.astype(jnp.result_type(float)) if mixed else base
    return jnp.power(wide, exponent).astype(base.dtype)


@rule("Gelu", "jax")
def _gelu(inputs: Inputs, attributes: Attributes) -> Array:
    return jax.nn.gelu(inputs[0], approximate=attributes.get("approximate", "none") == "tanh")


@rule("Swish", "jax")
def _swish(inputs: Inputs, attributes: Attributes) -> Array:
    return inputs[0] * jax.nn.sigmoid(attributes.get("alpha", 1.0) * inputs[0])


@rule("Cast", "jax")
def _cast(inputs: Inputs, attributes: Attributes) -> Array:
    name = cast_type(attributes, "jax")
    dtype = jax.dtypes.canonicalize_dtype(name)
    if name == "float64" and dtype != np.float64:
        raise UnsupportedError("Cast to float64 on jax needs a float64 run: set train.precision to float64")
    return jnp.asarray(inputs[0]).astype(dtype)


@rule("Gemm", "jax")
def _gemm(inputs: Inputs, attributes: Attributes) -> Array:
    left = inputs[0].T if attributes.get("transA", 0) else inputs[0]
    right = inputs[1].T if attributes.get("transB", 0) else inputs[1]
    alpha, beta, added = attributes.get("alpha", 1.0), attributes.get("beta", 1.0), optional(inputs, 2)
    product = left @ right if alpha == 1.0 else alpha * (left @ right)
    if added is None:
        return product
    return product + (added if beta == 1.0 else beta * added)


@rule("Softmax", "jax")
def _softmax(inputs: Inputs, attributes: Attributes) -> Array:
    return jax.nn.softmax(inputs[0], axis=attributes.get("axis", -1))


@rule("LogSoftmax", "jax")
def _log_softmax(inputs: Inputs, attributes: Attributes) -> Array:
    return jax.nn.log_softmax(inputs[0], axis=attributes.get("axis", -1))


@rule("ReduceMean", "jax")
def _reduce_mean(inputs: Inputs, attributes: Attributes) -> Array:
    axes = reduced_axes(inputs[0].ndim, attributes, optional(inputs, 1))
    return jnp.mean(inputs[0], axis=axes, keepdims=bool(attributes.get("keepdims", 1)))


@rule("ReduceSum", "jax")
def _reduce_sum(inputs: Inputs, attributes: Attributes) -> Array:
    axes = reduced_axes(inputs[0].ndim, attributes, optional(inputs, 1))
    return jnp.sum(inputs[0], axis=axes, keepdims=bool(attributes.get("keepdims", 1)), dtype=inputs[0].dtype)

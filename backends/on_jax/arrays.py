"""JAX arrays for rules that move values: constants and indices."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UnsupportedError
from ..kit import computed
from ..static import unknown_values
from ..values import Narrow
from . import casting, products

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..registry import Rule


def tensor_of(value: Any, beside: Any = None) -> Any:
    """Return a constant as an array; narrow ones stay carried."""
    if isinstance(value, Narrow):
        carrier = jnp.asarray(value.values)
        return carrier.astype(jnp.bfloat16) if value.dtype == "bfloat16" else Narrow(carrier, value.dtype)
    return jnp.asarray(value)


def indices_of(value: Any, length: int) -> Any:
    """Return indices counted from 0."""
    indices = jnp.asarray(value)
    return jnp.where(indices < 0, indices + length, indices)


def signed_bits(rule: Rule) -> Rule:
    """Return the rule itself: JAX has every operator for unsigned integers."""
    return rule


def number(value: float, beside: Any) -> Any:
    """Return a number as a tensor of shape () with the dtype of the tensor beside it."""
    return jnp.asarray(value, beside.dtype)


def steps(count: int, beside: Any) -> Any:
    """Return 0, 1, 2, … as an int64 vector."""
    return jnp.arange(count, dtype=int)


def table(function: Callable[..., np.ndarray], *arguments: Any, beside: Any) -> Any:
    """Return what a function of shapes and attributes gives, computed once and never traced."""
    made = computed(function, arguments)
    return jnp.asarray(made, jax.dtypes.canonicalize_dtype(made.dtype))


def dtype_of(tensor: Any) -> str:
    """Return a dtype's numpy name, or `bfloat16`."""
    return str(tensor.dtype)


def cast(tensor: Any, dtype: str) -> Any:
    """Return a tensor as another dtype."""
    return jnp.asarray(tensor).astype(jax.dtypes.canonicalize_dtype(dtype))


def refuse_compiled(_op: str) -> None:
    """Do nothing: only what becomes a tensor is traced here."""


def host(tensor: Any, what: str) -> np.ndarray:
    """Return a tensor's values.

    Raises:
        UnsupportedError: They are not known while a program is compiled.
    """
    if isinstance(tensor, jax.core.Tracer):
        raise UnsupportedError(unknown_values(what, "jax"))
    values = np.asarray(tensor)
    return values.astype(np.float32) if values.dtype == jnp.bfloat16 else values


def quotient(left: Any, right: Any) -> Any:
    """Return exactly rounded quotients; no gradient goes through them.

    XLA would multiply by the reciprocal of a single divisor.
    """
    left, right = jax.lax.stop_gradient(jnp.broadcast_arrays(left, right))
    return jax.lax.div(left, jax.lax.optimization_barrier(right))


def take(tensor: Any, indices: Any, axis: int) -> Any:
    """Return the slices along an axis at int64 indices from 0, of any shape, which takes the axis' place."""
    return jnp.take(tensor, jnp.asarray(indices), axis=axis, mode="clip")


def shaped(tensor: Any, shape: Sequence[int]) -> Any:
    """Return a tensor in another shape."""
    return jnp.reshape(tensor, tuple(shape))


def joined(parts: Sequence[Any], axis: int) -> Any:
    """Return tensors one after the other along an axis."""
    return jnp.concatenate(list(parts), axis=axis)


def stacked(parts: Sequence[Any], axis: int) -> Any:
    """Return tensors along a new axis."""
    return jnp.stack(list(parts), axis=axis)


def total(tensor: Any, axes: Sequence[int]) -> Any:
    """Return the sum over axes."""
    return jnp.sum(tensor, axis=tuple(axes), dtype=tensor.dtype)


def highest(tensor: Any, axes: Sequence[int]) -> Any:
    """Return the largest element over axes."""
    return jnp.max(tensor, axis=tuple(axes))


def along(tensor: Any, matrix: np.ndarray, axis: int) -> Any:
    """Return `matrix @ slice` for each slice along an axis."""
    weights = jnp.asarray(matrix, tensor.dtype)
    made = jnp.tensordot(tensor, weights, axes=((axis,), (1,)), precision="highest")
    return jnp.moveaxis(made, -1, axis)


def gathered_sums(tensor: Any, places: np.ndarray, size: int) -> Any:
    """Return sums over the last axis' elements that have the same place among `size` ones."""
    return jnp.zeros((*tensor.shape[:-1], size), tensor.dtype).at[..., places].add(tensor)


def scattered(rows: Any, places: Any, updates: Any, reduction: str) -> Any:
    """Return rows of which those at int64 places are replaced by, or combined with, updates."""
    if reduction == "none":
        return rows.at[places].set(updates)
    if reduction == "add":
        return rows.at[places].add(updates)
    if jnp.issubdtype(rows.dtype, jnp.inexact):
        return _combined(reduction, rows, places, updates)
    return _combine(reduction, rows, places, updates)


def _combine(reduction: str, rows: Any, places: Any, updates: Any) -> Any:
    return getattr(rows.at[places], {"mul": "multiply"}.get(reduction, reduction))(updates)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _combined(reduction: str, rows: Any, places: Any, updates: Any) -> Any:
    """Combine with a gradient, which JAX lacks for these; equal largest or smallest elements share it."""
    return _combine(reduction, rows, places, updates)


def _forward(reduction: str, rows: Any, places: Any, updates: Any) -> Any:
    made = _combine(reduction, rows, places, updates)
    return made, (rows, places, updates, made)


def _backward(reduction: str, kept: Any, gradient: Any) -> Any:
    rows, places, updates, made = kept
    if reduction == "mul":
        moved = _product_gradients(rows, places, updates, gradient)
    else:
        ours, theirs = (value.astype(rows.dtype) for value in (rows == made, updates == made[places]))
        share = gradient / ours.at[places].add(theirs)
        moved = ours * share, theirs * share[places]
    return moved[0], np.zeros(places.shape, jax.dtypes.float0), moved[1]


def _product_gradients(rows: Any, places: Any, updates: Any, gradient: Any) -> tuple[Any, Any]:
    """Multiply the gradient with all factors but one's own; what is zero counts apart."""
    ours, theirs = rows == 0, updates == 0
    zeros = ours.astype(jnp.int32).at[places].add(theirs.astype(jnp.int32))
    whole, parts = jnp.where(ours, 1, rows), jnp.where(theirs, 1, updates)
    flow = gradient * whole.at[places].multiply(parts)

    def others(flow: Any, zeros: Any, own: Any, part: Any) -> Any:
        return jnp.where(zeros == own, flow / part, 0)

    return others(flow, zeros, ours, whole), others(flow[places], zeros[places], theirs, parts)


_combined.defvjp(_forward, _backward)


def search(keys: Any, tensor: Any) -> Any:
    """Return for each element the first place in sorted keys that is not smaller, as int64."""
    return cast(jnp.searchsorted(keys, tensor), "int64")


def shifted_right(tensor: Any, count: int) -> Any:
    """Return int32 bits moved down by 1 to 31 places, with zeros above."""
    return jax.lax.shift_right_logical(tensor, jnp.full_like(tensor, count))


def settled(tensor: Any) -> Any:
    """Return a vector as it is: XLA works it out once."""
    return tensor


exclusive, shifted_left = jnp.bitwise_xor, jnp.left_shift


select, turned, padded = jnp.where, jnp.transpose, jnp.pad
floor, rint, exp, smaller, larger = jnp.floor, jnp.rint, jnp.exp, jnp.minimum, jnp.maximum
converted, matmul = casting.cast, products.matmul
sqrt, sign = jnp.sqrt, jnp.sign

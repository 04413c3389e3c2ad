"""JAX rules: reductions, places of extremes and running sums.

A reduction over no axes leaves each element alone, but for the function that is applied to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import jax
import jax.numpy as jnp

from ..reducing import Over, extreme_of_nothing, reduction
from ..registry import rule
from .casting import dtype_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]
    Reduce = Callable[[Any, Over], Any]


def _register(op: str, function: Reduce) -> None:
    @rule(op, "jax")
    def apply(inputs: Inputs, attributes: Attributes) -> Array:
        over = reduction(inputs[0].ndim, inputs, attributes)
        return function(inputs[0], over).astype(inputs[0].dtype)


def _total(value: Array, over: Over) -> Array:
    return jnp.sum(value, axis=over.axes, keepdims=over.keep, dtype=value.dtype)


def _mean(value: Array, over: Over) -> Array:
    if jnp.issubdtype(value.dtype, jnp.floating):
        return jnp.mean(value, axis=over.axes, keepdims=over.keep)
    total = _total(value, over)
    return jax.lax.div(total, jnp.full_like(total, over.count(value.shape)))


def _product(value: Array, over: Over) -> Array:
    return jnp.prod(value, axis=over.axes, keepdims=over.keep, dtype=value.dtype)


def _extreme(function: Callable[..., Array], *, largest: bool) -> Reduce:
    def reduce(value: Array, over: Over) -> Array:
        initial = extreme_of_nothing(dtype_name(value), largest=largest) if over.count(value.shape) == 0 else None
        return function(value, axis=over.axes, keepdims=over.keep, initial=initial)

    return reduce


def _floating(value: Array) -> Array:
    return value if jnp.issubdtype(value.dtype, jnp.floating) else value.astype(jnp.result_type(float))


def _root(value: Array, over: Over) -> Array:
    """Return the Euclidean length; where it is zero its gradient is taken as zero."""
    square = _total(jnp.square(_floating(value)), over)
    zero = square == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, square)))


def _log_sum(value: Array, over: Over) -> Array:
    return jnp.log(_total(_floating(value), over))


def _log_sum_exp(value: Array, over: Over) -> Array:
    if not over.axes:
        return value
    return jax.scipy.special.logsumexp(_floating(value), axis=over.axes, keepdims=over.keep)


_register("ReduceSum", _total)
_register("ReduceMean", _mean)
_register("ReduceProd", _product)
_register("ReduceMax", _extreme(jnp.max, largest=True))
_register("ReduceMin", _extreme(jnp.min, largest=False))
_register("ReduceL1", lambda value, over: _total(jnp.abs(value), over))
_register("ReduceL2", _root)
_register("ReduceSumSquare", lambda value, over: _total(jnp.square(value), over))
_register("ReduceLogSum", _log_sum)
_register("ReduceLogSumExp", _log_sum_exp)


def _register_place(op: str, function: Callable[..., Array]) -> None:
    @rule(op, "jax")
    def apply(inputs: Inputs, attributes: Attributes) -> Array:
        value, axis = inputs[0], attributes.get("axis", 0)
        keep, last = bool(attributes.get("keepdims", 1)), bool(attributes.get("select_last_index", 0))
        place = function(jnp.flip(value, axis) if last else value, axis=axis, keepdims=keep)
        return (value.shape[axis] - 1 - place if last else place).astype(jnp.result_type(int))


_register_place("ArgMax", jnp.argmax)
_register_place("ArgMin", jnp.argmin)


def _register_running(op: str, function: Callable[..., Array], neutral: int) -> None:
    def running(value: Array, axis: int, *, exclusive: bool) -> Array:
        made = function(value, axis=axis, dtype=value.dtype)
        if not exclusive:
            return made
        kept = jax.lax.slice_in_dim(made, 0, made.shape[axis] - 1, axis=axis)
        first = jnp.full_like(jax.lax.slice_in_dim(made, 0, 1, axis=axis), neutral)
        return jnp.concatenate((first, kept), axis=axis)

    @rule(op, "jax")
    def apply(inputs: Inputs, attributes: Attributes) -> Array:
        (axis,), exclusive = inputs[1], bool(attributes.get("exclusive", 0))
        if not attributes.get("reverse", 0):
            return running(inputs[0], axis, exclusive=exclusive)
        return jnp.flip(running(jnp.flip(inputs[0], axis), axis, exclusive=exclusive), axis)


_register_running("CumSum", jnp.cumsum, 0)
_register_running("CumProd", jnp.cumprod, 1)

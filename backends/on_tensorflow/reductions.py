"""TensorFlow rules: reductions, places of extremes and running sums.

A reduction over no axes leaves each element alone, but for the function that is applied to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import tensorflow as tf

from ..reducing import Over, extreme_of_nothing, reduction
from ..registry import rule
from .arithmetic import in_signed, where
from .casting import dtype_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]
    Reduce = Callable[[Any, Over], Any]


def _register(op: str, function: Reduce) -> None:
    @rule(op, "tensorflow")
    def apply(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
        over = reduction(inputs[0].shape.rank, inputs, attributes)
        made = function(inputs[0], over)
        return made if made.dtype == inputs[0].dtype else tf.cast(made, inputs[0].dtype)


def _total(value: tf.Tensor, over: Over) -> tf.Tensor:
    return tf.reduce_sum(value, over.axes, over.keep)


def _mean(value: tf.Tensor, over: Over) -> tf.Tensor:
    if value.dtype.is_floating:
        return tf.reduce_mean(value, over.axes, over.keep)
    return tf.truncatediv(_total(value, over), tf.cast(over.count(value.shape), value.dtype))


def _extreme(function: Callable[..., tf.Tensor], truth: Callable[..., tf.Tensor], *, largest: bool) -> Reduce:
    def reduce(value: tf.Tensor, over: Over) -> tf.Tensor:
        if value.dtype == tf.bool:
            return truth(value, over.axes, over.keep)
        if over.count(value.shape) == 0:
            fill = extreme_of_nothing(dtype_name(value), largest=largest)
            return tf.fill(over.shape(value.shape), tf.constant(fill, value.dtype))
        return function(value, over.axes, over.keep)

    return reduce


def _floating(value: tf.Tensor) -> tf.Tensor:
    return value if value.dtype.is_floating else tf.cast(value, tf.float64)


def _root(value: tf.Tensor, over: Over) -> tf.Tensor:
    """Return the Euclidean length; where it is zero its gradient is taken as zero."""
    square = _total(tf.square(_floating(value)), over)
    zero = square == 0.0
    return where(zero, 0.0, tf.sqrt(where(zero, 1.0, square)))


def _log_sum_exp(value: tf.Tensor, over: Over) -> tf.Tensor:
    return tf.reduce_logsumexp(_floating(value), over.axes, over.keep) if over.axes else value


_register("ReduceSum", _total)
_register("ReduceMean", _mean)
_register("ReduceProd", lambda value, over: tf.reduce_prod(value, over.axes, over.keep))
_register("ReduceMax", _extreme(tf.reduce_max, tf.reduce_any, largest=True))
_register("ReduceMin", _extreme(tf.reduce_min, tf.reduce_all, largest=False))
_register("ReduceL1", lambda value, over: _total(in_signed(tf.abs, value), over))
_register("ReduceL2", _root)
_register("ReduceSumSquare", lambda value, over: _total(value * value, over))
_register("ReduceLogSum", lambda value, over: tf.math.log(_total(_floating(value), over)))
_register("ReduceLogSumExp", _log_sum_exp)


def _register_place(op: str, function: Callable[..., tf.Tensor]) -> None:
    @rule(op, "tensorflow")
    def apply(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
        value, axis = inputs[0], attributes.get("axis", 0) % inputs[0].shape.rank
        last = bool(attributes.get("select_last_index", 0))
        place = function(tf.reverse(value, (axis,)) if last else value, axis)
        place = value.shape[axis] - 1 - place if last else place
        return tf.expand_dims(place, axis) if attributes.get("keepdims", 1) else place


_register_place("ArgMax", tf.argmax)
_register_place("ArgMin", tf.argmin)


def _register_running(op: str, function: Callable[..., tf.Tensor]) -> None:
    @rule(op, "tensorflow")
    def apply(inputs: Inputs, attributes: Attributes) -> tf.Tensor:
        (axis,) = inputs[1]
        ways = {way: bool(attributes.get(way, 0)) for way in ("exclusive", "reverse")}
        return function(inputs[0], axis, **ways)


_register_running("CumSum", tf.cumsum)
_register_running("CumProd", tf.math.cumprod)

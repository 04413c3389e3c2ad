"""PyTorch rules: reductions, places of extremes and running sums.

A reduction over no axes leaves each element alone, but for the function that is applied to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch

from ..reducing import Over, extreme_of_nothing, reduction
from ..registry import rule
from .casting import dtype_name
from .unsigned import divided, ordered, selecting, wrapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]
    Reduce = Callable[[Any, Over], Any]


def _register(op: str, function: Reduce) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, attributes: Attributes) -> Any:
        over = reduction(inputs[0].dim(), inputs, attributes)
        return function(inputs[0], over).to(inputs[0].dtype)


def _total(value: Any, over: Over) -> Any:
    if not over.axes:
        return value
    return wrapping(lambda terms: torch.sum(terms, over.axes, keepdim=over.keep, dtype=terms.dtype), value)


def _mean(value: Any, over: Over) -> Any:
    if not over.axes:
        return value
    if value.dtype.is_floating_point:
        return torch.mean(value, over.axes, keepdim=over.keep)
    total = _total(value, over)
    return divided(total, torch.full_like(total, over.count(value.shape)))[0]


def _product(value: Any, over: Over) -> Any:
    def multiplied(factors: Any) -> Any:
        for axis in sorted(over.axes, reverse=True):
            factors = torch.prod(factors, axis, keepdim=over.keep, dtype=factors.dtype)
        return factors

    return wrapping(multiplied, value)


def _extreme(function: Callable[..., Any], *, largest: bool) -> Reduce:
    def reduce(value: Any, over: Over) -> Any:
        if not over.axes:
            return value
        if over.count(value.shape) == 0:
            fill = extreme_of_nothing(dtype_name(value), largest=largest)
            shape = over.shape(value.shape)
            return torch.full(shape, fill, dtype=value.dtype, device=value.device)
        return selecting(lambda terms: function(terms, over.axes, keepdim=over.keep), value)

    return reduce


def _floating(value: Any) -> Any:
    return value if value.dtype.is_floating_point else value.double()


def _root(value: Any, over: Over) -> Any:
    """Return the Euclidean length; where it is zero its gradient is taken as zero."""
    square = _total(torch.square(_floating(value)), over)
    zero = square == 0
    return torch.where(zero, 0, torch.sqrt(torch.where(zero, 1, square)))


def _log_sum(value: Any, over: Over) -> Any:
    return torch.log(_total(_floating(value), over))


def _log_sum_exp(value: Any, over: Over) -> Any:
    return torch.logsumexp(_floating(value), over.axes, keepdim=over.keep) if over.axes else value


_register("ReduceSum", _total)
_register("ReduceMean", _mean)
_register("ReduceProd", _product)
_register("ReduceMax", _extreme(torch.amax, largest=True))
_register("ReduceMin", _extreme(torch.amin, largest=False))
_register("ReduceL1", lambda value, over: _total(wrapping(torch.abs, value), over))
_register("ReduceL2", _root)
_register("ReduceSumSquare", lambda value, over: _total(wrapping(torch.square, value), over))
_register("ReduceLogSum", _log_sum)
_register("ReduceLogSumExp", _log_sum_exp)


def _register_place(op: str, function: Callable[..., Any]) -> None:
    @rule(op, "torch")
    def apply(inputs: Inputs, attributes: Attributes) -> Any:
        value, axis = ordered(inputs[0]), attributes.get("axis", 0)
        keep = bool(attributes.get("keepdims", 1))
        if not attributes.get("select_last_index", 0):
            return function(value, axis, keepdim=keep)
        return value.shape[axis] - 1 - function(torch.flip(value, (axis,)), axis, keepdim=keep)


_register_place("ArgMax", torch.argmax)
_register_place("ArgMin", torch.argmin)


def _register_running(op: str, function: Callable[..., Any], neutral: int) -> None:
    def running(value: Any, axis: int, *, exclusive: bool) -> Any:
        made = function(value, axis, dtype=value.dtype)
        if not exclusive:
            return made
        first = torch.full_like(made.narrow(axis, 0, 1), neutral)
        return torch.cat((first, made.narrow(axis, 0, made.shape[axis] - 1)), axis)

    @rule(op, "torch")
    def apply(inputs: Inputs, attributes: Attributes) -> Any:
        (axis,), exclusive = inputs[1], bool(attributes.get("exclusive", 0))
        if not attributes.get("reverse", 0):
            return wrapping(lambda value: running(value, axis, exclusive=exclusive), inputs[0])
        return wrapping(lambda value: running(value.flip((axis,)), axis, exclusive=exclusive).flip((axis,)), inputs[0])


_register_running("CumSum", torch.cumsum, 0)
_register_running("CumProd", torch.cumprod, 1)

"""PyTorch has no arithmetic on unsigned integers of 16 bits and more: it is done in a signed dtype."""

from __future__ import annotations

from typing import Any, Callable

import torch

_WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64}
_TOP = -(2**63)


def signed(value: Any) -> Any:
    """Return a tensor in a dtype that has arithmetic; of 64 unsigned bits the same bits, so that sums wrap around."""
    if value.dtype == torch.uint64:
        return value.view(torch.int64)
    return value.to(_WIDER[value.dtype]) if value.dtype in _WIDER else value


def restored(value: Any, dtype: torch.dtype) -> Any:
    """Return what was computed on `signed` tensors in the dtype that they had."""
    if dtype == torch.uint64 and value.dtype == torch.int64:
        return value.view(torch.uint64)
    return value.to(dtype)


def ordered(value: Any) -> Any:
    """Return a tensor in a dtype that has comparisons, with the same order."""
    return signed(value) ^ _TOP if value.dtype == torch.uint64 else signed(value)


def unordered(value: Any, dtype: torch.dtype) -> Any:
    """Return what was selected among `ordered` tensors in the dtype that they had."""
    return restored(value ^ _TOP if dtype == torch.uint64 else value, dtype)


def wrapping(function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function whose low bits depend on low bits only, such as a sum, in the values' own dtype."""
    dtype = values[0].dtype
    if dtype.is_floating_point:
        return function(*values)
    return restored(function(*map(signed, values)), dtype)


def selecting(function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function that selects among values by their order, such as a maximum, in the values' own dtype."""
    dtype = values[0].dtype
    if dtype.is_floating_point:
        return function(*values)
    return unordered(function(*map(ordered, values)), dtype)


def divided(left: Any, right: Any) -> tuple[Any, Any]:
    """Return the quotient, cut to a whole number, and the remainder of integers of any one dtype."""
    if left.dtype == torch.uint64:
        return _divided64(left.view(torch.int64), right.view(torch.int64))
    dtype, left, right = left.dtype, signed(left), signed(right)
    quotient = torch.div(left, right, rounding_mode="trunc")
    return restored(quotient, dtype), restored(left - quotient * right, dtype)


def _divided64(left: Any, right: Any) -> tuple[Any, Any]:
    """Divide 64 unsigned bits: half of them first, then what is missing, of which there is at most one."""
    halved = (left >> 1) & ~_TOP
    small = torch.div(halved, torch.where(right < 0, 1, right), rounding_mode="trunc") << 1
    quotient = torch.where(right < 0, 0, small)
    rest = left - quotient * right
    more = (rest ^ _TOP) >= (right ^ _TOP)
    quotient, rest = quotient + more, torch.where(more, rest - right, rest)
    return quotient.view(torch.uint64), rest.view(torch.uint64)

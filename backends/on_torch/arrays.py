"""PyTorch tensors for rules that move values: dtypes that PyTorch has few operators for, indices, values of a run."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..errors import UnsupportedError
from ..static import unknown_values
from ..values import Narrow
from . import casting, products, tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..registry import Rule

# PyTorch selects and copies few of the wide unsigned integers: their bits travel as signed ones.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def signed_bits(rule: Rule) -> Rule:
    """Return a rule that only moves values as one for the wide unsigned integers as well."""

    @functools.wraps(rule)
    def moved(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        wide = next((v.dtype for v in inputs if isinstance(v, torch.Tensor) and v.dtype in _SIGNED), None)
        if wide is None:
            return rule(inputs, attributes)
        made = rule([_viewed(value, wide, _SIGNED[wide]) for value in inputs], attributes)
        if isinstance(made, tuple):
            return tuple(_viewed(value, _SIGNED[wide], wide) for value in made)
        return _viewed(made, _SIGNED[wide], wide)

    return moved


def _viewed(value: Any, dtype: torch.dtype, other: torch.dtype) -> Any:
    return value.view(other) if isinstance(value, torch.Tensor) and value.dtype == dtype else value


def tensor_of(value: Any, beside: Any = None) -> Any:
    """Return a constant as a tensor on the device of the tensor beside it; narrow ones stay carried."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, Narrow):
        carrier = tensor_of(value.values, beside)
        return carrier.to(torch.bfloat16) if value.dtype == "bfloat16" else Narrow(carrier, value.dtype)
    device = beside.device if isinstance(beside, torch.Tensor) else None
    return torch.tensor(np.asarray(value), device=device)


def indices_of(value: Any, length: int, beside: Any) -> Any:
    """Return indices as int64, counted from 0."""
    indices = tensor_of(value, beside).long()
    return torch.where(indices < 0, indices + length, indices)


def number(value: float, beside: Any) -> Any:
    """Return a number as a tensor of shape () with the dtype of the tensor beside it."""
    return torch.full((), value, dtype=beside.dtype, device=beside.device)


def steps(count: int, beside: Any) -> Any:
    """Return 0, 1, 2, … as an int64 vector."""
    return torch.arange(count, device=beside.device)


def dtype_of(tensor: Any) -> str:
    """Return a dtype's numpy name, or `bfloat16`."""
    return str(tensor.dtype).rsplit(".", maxsplit=1)[-1]


def cast(tensor: Any, dtype: str) -> Any:
    """Return a tensor as another dtype."""
    return tensor.to(getattr(torch, dtype))


def refuse_compiled(op: str) -> None:
    """Refuse an operator inside `torch.compile`, which would trace numpy's work on its attributes.

    Raises:
        UnsupportedError: A program is being compiled.
    """
    if torch.compiler.is_compiling():
        raise UnsupportedError(f"{op} has no rule for torch.compile: evaluate the model without compiling it")


def host(tensor: Any, what: str) -> np.ndarray:
    """Return a tensor's values.

    Raises:
        UnsupportedError: They are not known while a program is compiled.
    """
    if torch.compiler.is_compiling():
        raise UnsupportedError(unknown_values(what, "torch"))
    detached = tensor.detach().cpu()
    return np.asarray(detached.float() if detached.dtype == torch.bfloat16 else detached)


def quotient(left: Any, right: Any) -> Any:
    """Return exactly rounded quotients."""
    return left / right


def take(tensor: Any, indices: Any, axis: int) -> Any:
    """Return the slices along an axis at int64 indices from 0, of any shape, which takes the axis' place."""
    indices, signed = tensor_of(indices, tensor), _SIGNED.get(tensor.dtype)
    if signed is not None:
        return take(tensor.view(signed), indices, axis).view(tensor.dtype)
    picked = torch.index_select(tensor, axis, indices.reshape(-1))
    return picked.reshape(*tensor.shape[:axis], *indices.shape, *tensor.shape[axis + 1 :])


def select(condition: Any, one: Any, other: Any) -> Any:
    """Return one tensor's elements where a condition holds and another's elsewhere."""
    return torch.where(condition, one, other)


def shaped(tensor: Any, shape: Sequence[int]) -> Any:
    """Return a tensor in another shape."""
    return tensor.reshape(tuple(shape))


def turned(tensor: Any, order: Sequence[int]) -> Any:
    """Return a tensor with its axes in another order."""
    return tensor.permute(tuple(order))


def joined(parts: Sequence[Any], axis: int) -> Any:
    """Return tensors one after the other along an axis."""
    return torch.cat(list(parts), dim=axis)


def stacked(parts: Sequence[Any], axis: int) -> Any:
    """Return tensors along a new axis."""
    return torch.stack(list(parts), dim=axis)


def padded(tensor: Any, pairs: Sequence[tuple[int, int]]) -> Any:
    """Return a tensor with zeros before and after each axis."""
    return torch.nn.functional.pad(tensor, [size for pair in reversed(pairs) for size in pair])


def total(tensor: Any, axes: Sequence[int]) -> Any:
    """Return the sum over axes."""
    return tensor.sum(tuple(axes), dtype=tensor.dtype)


def highest(tensor: Any, axes: Sequence[int]) -> Any:
    """Return the largest element over axes."""
    return tensor.amax(tuple(axes))


def along(tensor: Any, matrix: np.ndarray, axis: int) -> Any:
    """Return `matrix @ slice` for each slice along an axis."""
    weights = tensor_of(matrix, tensor).to(tensor.dtype)
    if axis == tensor.dim() - 1:
        return tensor @ weights.T
    if axis == tensor.dim() - 2:
        return weights @ tensor
    return (tensor.movedim(axis, -1) @ weights.T).movedim(-1, axis)


def gathered_sums(tensor: Any, places: np.ndarray, size: int) -> Any:
    """Return sums over the last axis' elements that have the same place among `size` ones."""
    zeros = torch.zeros((*tensor.shape[:-1], size), dtype=tensor.dtype, device=tensor.device)
    return zeros.index_add(-1, tensor_of(places, tensor), tensor)


def scattered(rows: Any, places: Any, updates: Any, reduction: str) -> Any:
    """Return rows of which those at int64 places are replaced by, or combined with, updates."""
    signed = _SIGNED.get(rows.dtype)
    if signed is None:
        return _scattered(rows, places, updates, reduction)
    if reduction not in ("max", "min"):
        return _scattered(rows.view(signed), places, updates.view(signed), reduction).view(rows.dtype)
    made = _scattered(ordered_bits(rows), places, ordered_bits(updates), reduction)
    return (made ^ torch.iinfo(signed).min).view(rows.dtype)


def ordered_bits(tensor: Any) -> Any:
    """Return wide unsigned integers as signed ones in the same order: their highest bit is turned."""
    signed = _SIGNED.get(tensor.dtype)
    return tensor if signed is None else tensor.view(signed) ^ torch.iinfo(signed).min


def _scattered(rows: Any, places: Any, updates: Any, reduction: str) -> Any:
    if reduction == "none":
        return rows.index_put((places,), updates)
    if reduction == "add":
        return rows.index_add(0, places, updates)
    everywhere = places.reshape(-1, *(1,) * (rows.dim() - 1)).expand(updates.shape)
    return rows.scatter_reduce(0, everywhere, updates, {"mul": "prod"}.get(reduction, f"a{reduction}"))


def search(keys: Any, tensor: Any) -> Any:
    """Return for each element the first place in sorted keys that is not smaller, as int64."""
    return torch.searchsorted(keys, tensor.contiguous())


def shifted_right(tensor: Any, count: int) -> Any:
    """Return int32 bits moved down by 1 to 31 places, with zeros above; PyTorch itself would repeat the sign."""
    return torch.bitwise_and(torch.bitwise_right_shift(tensor, count), (1 << (32 - count)) - 1)


def settled(tensor: Any) -> Any:
    """Return a vector as it is; Inductor would write out what makes it in each of its uses, and those in theirs."""
    return tensor.as_strided(tensor.shape, (1,))


exclusive, shifted_left = torch.bitwise_xor, torch.bitwise_left_shift


floor, rint, exp, smaller, larger = torch.floor, torch.round, torch.exp, torch.minimum, torch.maximum
converted, matmul, table = casting.cast, products.matmul, tables.table
sqrt, sign = torch.sqrt, torch.sign

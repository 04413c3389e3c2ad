"""Rules written once for every target, in the few array functions that each target's `arrays` module has.

A shared rule is called as `function(kit, inputs, attributes)`. It is for operators that no framework has, or whose
parts the frameworks do equally well; what one of them does faster has a rule of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Callable, Protocol

import numpy as np

from .registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from .values import Narrow


class Kit(Protocol):
    """What a target's `arrays` module has; tensors also have `shape`, slicing, arithmetic and comparisons."""

    def tensor_of(self, value: np.ndarray | Narrow | Any, beside: Any = None) -> Any:
        """Return a constant as a tensor on the device of the tensor beside it."""

    def number(self, value: float, beside: Any) -> Any:
        """Return a number as a tensor of shape () with the dtype of the tensor beside it."""

    def steps(self, count: int, beside: Any) -> Any:
        """Return 0, 1, 2, … as an int64 vector."""

    def table(self, function: Callable[..., np.ndarray], *arguments: Any, beside: Any) -> Any:
        """Return what a function of shapes and attributes gives, computed once and never traced.

        Its arguments are numbers, words, or tuples of those.
        """

    def dtype_of(self, tensor: Any) -> str:
        """Return a dtype's numpy name, or `bfloat16`."""

    def cast(self, tensor: Any, dtype: str) -> Any:
        """Return a tensor as another dtype."""

    def converted(self, tensor: Any, name: str, attributes: Mapping[str, Any]) -> Any:
        """Return a tensor, narrow or not, as a dtype of `nodes.DTYPES`, rounded as a `Cast` node does."""

    def quotient(self, left: Any, right: Any) -> Any:
        """Return exactly rounded quotients, for what is rounded next; no gradient need go through them."""

    def matmul(self, left: Any, right: Any) -> Any:
        """Return the matrix product in the tensors' own dtype."""

    def refuse_compiled(self, op: str) -> None:
        """Raise `UnsupportedError` where numpy's work on a node's attributes would be traced."""

    def host(self, tensor: Any, what: str) -> np.ndarray:
        """Return a tensor's values; raises `UnsupportedError` where they are not known."""

    def take(self, tensor: Any, indices: Any, axis: int) -> Any:
        """Return the slices along an axis at int64 indices from 0, of any shape, which takes the axis' place."""

    def select(self, condition: Any, one: Any, other: Any) -> Any:
        """Return one tensor's elements where a condition holds and another's elsewhere."""

    def shaped(self, tensor: Any, shape: Sequence[int]) -> Any:
        """Return a tensor in another shape."""

    def turned(self, tensor: Any, order: Sequence[int]) -> Any:
        """Return a tensor with its axes in another order."""

    def joined(self, parts: Sequence[Any], axis: int) -> Any:
        """Return tensors one after the other along an axis."""

    def stacked(self, parts: Sequence[Any], axis: int) -> Any:
        """Return tensors along a new axis."""

    def padded(self, tensor: Any, pairs: Sequence[tuple[int, int]]) -> Any:
        """Return a tensor with zeros before and after each axis."""

    def floor(self, tensor: Any) -> Any:
        """Return the next lower integers."""

    def rint(self, tensor: Any) -> Any:
        """Return the nearest integers, halves to the even one."""

    def exp(self, tensor: Any) -> Any:
        """Return powers of e."""

    def sqrt(self, tensor: Any) -> Any:
        """Return square roots."""

    def sign(self, tensor: Any) -> Any:
        """Return -1, 0 or 1."""

    def smaller(self, one: Any, other: Any) -> Any:
        """Return the smaller of two elements."""

    def larger(self, one: Any, other: Any) -> Any:
        """Return the larger of two elements."""

    def total(self, tensor: Any, axes: Sequence[int]) -> Any:
        """Return the sum over axes."""

    def highest(self, tensor: Any, axes: Sequence[int]) -> Any:
        """Return the largest element over axes."""

    def along(self, tensor: Any, matrix: np.ndarray, axis: int) -> Any:
        """Return `matrix @ slice` for each slice along an axis."""

    def gathered_sums(self, tensor: Any, places: np.ndarray, size: int) -> Any:
        """Return sums over the last axis' elements that have the same place among `size` ones."""

    def scattered(self, rows: Any, places: Any, updates: Any, reduction: str) -> Any:
        """Return rows of which those at int64 places are replaced by, or combined with, updates."""

    def search(self, keys: Any, tensor: Any) -> Any:
        """Return for each element the first place in sorted keys that is not smaller, as int64."""

    def exclusive(self, one: Any, other: Any) -> Any:
        """Return the exclusive or of int32 tensors, bit by bit."""

    def shifted_left(self, tensor: Any, count: int) -> Any:
        """Return int32 bits moved up by 1 to 31 places, with zeros below."""

    def shifted_right(self, tensor: Any, count: int) -> Any:
        """Return int32 bits moved down by 1 to 31 places, with zeros above."""

    def settled(self, tensor: Any) -> Any:
        """Return a vector as it is; a compiler is to work it out once, and not in each of its uses."""


@lru_cache(maxsize=512)
def computed(function: Callable[..., np.ndarray], arguments: tuple[Any, ...]) -> np.ndarray:
    """Return what a function gives, computed once for the same arguments."""
    return function(*arguments)


def vector(*numbers: int) -> np.ndarray:
    """Return int64 numbers, for `Kit.table`."""
    return np.array(numbers, np.int64)


def missing(tensor: Any) -> Any:
    """Return where a tensor is no number."""
    return tensor != tensor  # noqa: PLR0124 - only what is no number differs from itself


@dataclass(frozen=True)
class _Shared:
    function: Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]
    moves: bool


_SHARED: dict[str, _Shared] = {}


def shared(op: str, *, moves: bool = False) -> Callable[[Any], Any]:
    """Keep the decorated function as the rule of an operator on every target.

    Args:
        op: ONNX operator name.
        moves: Whether it only moves values, so that unsigned integers may travel as signed ones.
    """

    def keep(function: Any) -> Any:
        _SHARED[op] = _Shared(function, moves)
        return function

    return keep


def register_shared(target: str, kit: ModuleType) -> None:
    """Enter every shared rule for a target; the kit's `signed_bits` wraps those that only move values."""
    for op, kept in _SHARED.items():
        function = partial(kept.function, kit)
        rule(op, target)(kit.signed_bits(function) if kept.moves else function)

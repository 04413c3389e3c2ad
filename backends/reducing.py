"""What reductions share on every target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .narrow import INTEGERS
from .nodes import optional, reduced_axes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Over:
    """What a reduction runs over.

    Attributes:
        axes: Counted from 0; none for one that leaves each element alone.
        keep: Whether the axes are kept with size 1.
    """

    axes: tuple[int, ...]
    keep: bool

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape that a tensor of a shape is reduced to."""
        if self.keep:
            return tuple(1 if axis in self.axes else size for axis, size in enumerate(shape))
        return tuple(size for axis, size in enumerate(shape) if axis not in self.axes)

    def count(self, shape: Sequence[int]) -> int:
        """Return how many elements of a tensor of a shape go into each element of the result."""
        return math.prod([shape[axis] for axis in self.axes])


def reduction(rank: int, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Over:
    """Return what a reducing node runs over in a tensor of a rank.

    Axes may be an attribute still, as they were before operator set 18 and are in the bodies of older functions.
    """
    given = attributes.get("axes") if optional(inputs, 1) is None else inputs[1]
    return Over(reduced_axes(rank, attributes, given), bool(attributes.get("keepdims", 1)))


def extreme_of_nothing(dtype: str, *, largest: bool) -> Any:
    """Return the maximum, or the minimum, of no numbers.

    Args:
        dtype: The name of the numbers' dtype.
        largest: Whether it is the maximum, which is then the least number that there is.
    """
    if dtype == "bool":
        return not largest
    if dtype in INTEGERS:
        return INTEGERS[dtype][0 if largest else 1]
    return -math.inf if largest else math.inf

"""What the normalisations of every target need to know of a node: the dtype of their first stage, axes and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import UnsupportedError
from .nodes import DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EPSILON = 1e-5
_STASHES = ("float32", "float64", "float16", "bfloat16")


def stash_dtype(op: str, dtype: str, attributes: Mapping[str, Any]) -> str:
    """Return the dtype that a normalisation's first stage is computed in.

    Args:
        op: The operator, for the message.
        dtype: Name of the data's dtype.
        attributes: The node's; `stash_type` counts.

    Returns:
        The stated one, but float64 for float64 data: a run in float64 is float64 throughout.

    Raises:
        UnsupportedError: It is no floating-point type.
    """
    stated = DTYPES.get(attributes.get("stash_type", 1), "unknown")
    if stated not in _STASHES:
        raise UnsupportedError(f"{op} with a stash_type of {stated} means nothing: take float32 (1)")
    return dtype if dtype == "float64" else stated


def grouped(shape: Sequence[int], groups: int) -> tuple[int, ...]:
    """Return a channels-first shape with the channels of each group on an axis of their own.

    Raises:
        UnsupportedError: The channels cannot be shared out.
    """
    if groups < 1 or shape[1] % groups:
        raise UnsupportedError(
            f"GroupNormalization of {shape[1]} channels in {groups} groups: the groups must be equal"
        )
    return (shape[0], groups, shape[1] // groups, *shape[2:])


def neighbours(channels: int, size: int) -> tuple[int, int]:
    """Return how many channels before and after its own `LRN` sums over: `size` in all, if it has so many."""
    return min((size - 1) // 2, channels), min(size // 2, channels)

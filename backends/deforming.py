"""The static part of `DeformConv`: where its windows would look without offsets."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .windows import windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Deformed:
    """Sizes of one node.

    Attributes:
        sizes: The image's.
        out: The output's.
        places: How many places a window has.
        groups: Groups of channels that share their weights.
        offset_groups: Groups of channels that share their offsets.
        base: Where each place of each window lies without offset: float64 of shape (axes, places, outputs).
    """

    sizes: tuple[int, ...]
    out: tuple[int, ...]
    places: int
    groups: int
    offset_groups: int
    base: np.ndarray

    @property
    def corners(self) -> list[tuple[int, ...]]:
        """Return the corners of a cell of the grid: 0 or 1 per axis."""
        return list(itertools.product((0, 1), repeat=len(self.sizes)))

    @property
    def steps(self) -> tuple[int, ...]:
        """Return how far neighbours along each axis are apart in a flattened image."""
        return tuple(math.prod(self.sizes[axis + 1 :]) for axis in range(len(self.sizes)))


def deformed(data: Sequence[int], weight: Sequence[int], attributes: Mapping[str, Any]) -> Deformed:
    """Return the sizes of a `DeformConv` node.

    Args:
        data: Shape of the data.
        weight: Shape of the weight.
        attributes: The node's.
    """
    form = windows(data[2:], weight[2:], attributes)
    axes = []
    for axis, seen in enumerate(form.seen()):
        shape = [1] * (2 * form.rank)
        shape[axis], shape[form.rank + axis] = seen.shape[1], seen.shape[0]
        whole = np.broadcast_to(seen.T.reshape(shape), (*form.kernel, *form.out))
        axes.append(whole.reshape(math.prod(form.kernel), -1))
    return Deformed(
        form.sizes,
        form.out,
        math.prod(form.kernel),
        attributes.get("group", 1),
        attributes.get("offset_group", 1),
        np.stack(axes).astype(np.float64),
    )

"""Micro-batches, and what is made of gradients before an update.

With `train.accumulate` above 1, one step takes the gradients of several batches together. A step's batch then has a
leading axis over its micro-batches, and may say under `SHARE` how much each of them counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .layout import Turned
    from .program import Program
    from .spec import Train

SHARE = "accumulate.share"


def stacked(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return micro-batches as one batch with a leading axis."""
    return {name: np.stack([part[name] for part in parts]) for name in parts[0]}


def with_shares(batch: Mapping[str, np.ndarray], count: int) -> Mapping[str, np.ndarray]:
    """Return a step's batch with the share of each micro-batch, which is equal where the batch does not say it.

    Args:
        batch: Of `count` micro-batches along a leading axis.
        count: `train.accumulate`; a batch of 1 has no leading axis, and is returned as it is.
    """
    if count == 1 or SHARE in batch:
        return batch
    return {**batch, SHARE: np.full(count, 1.0 / count)}


def parts(batch: Mapping[str, np.ndarray], count: int) -> list[dict[str, np.ndarray]]:
    """Return a step's micro-batches, each with its share as a tensor of shape ()."""
    whole = with_shares(batch, count)
    return [{name: np.asarray(value[place]) for name, value in whole.items()} for place in range(count)]


def with_stacked_inputs(program: Program, count: int) -> Program:
    """Return a program whose inputs have the shapes of a step's batch; it is no program to be run."""
    if count == 1:
        return program
    inputs = tuple(replace(entry, shape=(count, *entry.shape)) for entry in program.inputs)
    return replace(program, inputs=inputs)


def stacked_layout(turned: Turned, count: int) -> Turned:
    """Return a layout that is for batches with a leading axis, where there is one."""
    if count == 1:
        return turned
    orders = {name: (0, *(axis + 1 for axis in order)) for name, order in turned.orders.items()}
    return replace(turned, orders=orders)


@dataclass(frozen=True)
class Limits:
    """How a target limits gradients, in whatever it keeps them.

    Attributes:
        norm: Returns their global norm.
        scaled: Takes gradients, their norm and the largest norm allowed, 0 for any; returns gradients no longer.
        small: Takes gradients and the largest size of an element; returns gradients within it.
    """

    norm: Callable[[Any], Any]
    scaled: Callable[[Any, Any, float], Any]
    small: Callable[[Any, float], Any]

    def limited(self, train: Train, gradients: Any, *, wanted: bool) -> tuple[Any, Any]:
        """Return gradients clipped by value and then by norm, and their norm before that.

        Args:
            train: Which limits there are.
            gradients: Gradients.
            wanted: Whether the norm is wanted where no limit needs it; it is None otherwise.
        """
        norm = self.norm(gradients) if wanted or (train.clip_norm and not train.clip_value) else None
        if not train.clip_value:
            return self.scaled(gradients, norm, train.clip_norm), norm
        small = self.small(gradients, train.clip_value)
        return self.scaled(small, self.norm(small) if train.clip_norm else None, train.clip_norm), norm

"""Which elements a `Dropout` node keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError
from .nodes import optional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_RATIO = 0.5


@dataclass(frozen=True)
class Drop:
    """What one node drops: a share of its elements, chosen by a seed; None stands for any seed."""

    ratio: float
    seed: int | None

    def refuse_without_seed(self, target: str) -> None:
        """Refuse what a compiled program cannot do: a mask that is made while it is compiled is the same in every run.

        Raises:
            UnsupportedError: There is no seed.
        """
        if self.seed is None:
            raise UnsupportedError(
                f"Dropout in training mode and without a seed has no rule in a compiled program on {target}, where it "
                "would drop the same elements in every step: give it a seed, or a ratio of 0"
            )


def mask(ratio: float, seed: int | None, shape: Sequence[int]) -> np.ndarray:
    """Return which elements are kept; with a seed those of ONNX's reference evaluator, the same in every run.

    Args:
        ratio: The share that is dropped.
        seed: What decides; None draws anew.
        shape: The data's.
    """
    # What the operator's own suite draws with.
    draw = np.random.RandomState(seed)
    return np.asarray(draw.uniform(0.0, 1.0, tuple(shape)) >= ratio)


def drop(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Drop | None:
    """Return what a `Dropout` node drops, or None where it drops nothing.

    Args:
        inputs: The node's; ratio and training mode are static.
        attributes: The node's.

    Raises:
        UnsupportedError: The ratio is outside [0, 1).
    """
    ratio, training = (optional(inputs, place) for place in (1, 2))
    share = float(ratio[0]) if ratio else _RATIO
    if not (training and training[0]) or share == 0:
        return None
    if not 0 < share < 1:
        raise UnsupportedError(f"Dropout with a ratio of {share} keeps nothing or means nothing: it must be in [0, 1)")
    return Drop(share, attributes.get("seed"))

"""What outputs are compared with: goals of each class, ignored labels, and the weight of a batch in a mean.

* Goals of `mean-squared-error` and `huber` are uniform over [-1, 1).
* Goals of `binary-cross-entropy` are 0 or 1: for class `k`, with `i = k mod (outputs + 1)`, output `i` is 1, those
  before it are 0, and those after it are drawn.
* Goals of `kl-divergence` are probabilities: integers from 1 to 1000 over their sum, where the class' own output has
  as much again as all of them together.
* Where labels are ignored, a share of one in eight is; a batch that would lose all of them keeps them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .draws import integers, uniform
from .errors import Fault, InputError

if TYPE_CHECKING:
    from .recipe import Train
    from .spec import Spec

IGNORED = 1 / 8
_SEQUENCES = 3
_MOST_DRAWN = 1000


def class_axis(rank: int) -> int:
    """Return the axis of classes: 1, but for sequences, (batch, positions, classes), the last."""
    return 2 if rank == _SEQUENCES else 1


def goals(loss: str, key: int, shape: tuple[int, ...]) -> np.ndarray:
    """Draw what the output should be for each kind of sample.

    Args:
        loss: Any loss but `cross-entropy` and `own`.
        key: The key of the stream of numbers.
        shape: The number of kinds, and the shape of an output without its batch.

    Returns:
        Float64 of that shape.
    """
    if loss == "binary-cross-entropy":
        return _binary(key, shape)
    if loss == "kl-divergence":
        return _probabilities(key, shape)
    return uniform(key, shape) * 2.0 - 1.0


def _binary(key: int, shape: tuple[int, ...]) -> np.ndarray:
    drawn = (uniform(key, shape) >= 0.5).reshape(shape[0], -1)  # noqa: PLR2004 - one half of them
    place = np.arange(drawn.shape[1])
    own = (np.arange(shape[0]) % (len(place) + 1))[:, None]
    return np.where(place > own, drawn, place == own).astype(np.float64).reshape(shape)


def _probabilities(key: int, shape: tuple[int, ...]) -> np.ndarray:
    axis = class_axis(len(shape))
    drawn = 1 + np.moveaxis(integers(key, _MOST_DRAWN, shape), axis, -1)
    total = drawn.sum(axis=-1, keepdims=True)
    own = (np.arange(shape[0]) % shape[axis])[:, None] == np.arange(shape[axis])
    own = own.reshape(shape[0], *[1] * (len(shape) - 2), shape[axis])
    # Sums of integers are exact, so that only one rounding is left and the bits are the same everywhere.
    return np.moveaxis((drawn + own * total) / (2 * total), -1, axis)


def left_out(train: Train, key: int, labels: np.ndarray) -> np.ndarray:
    """Return labels of which a share is `train.ignore_label`; all of them as they are where there is no such label."""
    if train.ignore_label is None:
        return labels
    chosen = uniform(key, labels.shape) < IGNORED
    return labels if chosen.all() else np.where(chosen, np.int64(train.ignore_label), labels)


def kept(spec: Spec, labels: np.ndarray, number: int) -> np.ndarray:
    """Return labels of a batch that cross-entropy has a mean over.

    Args:
        spec: The run.
        labels: Its labels.
        number: Which batch of the run it is, counting from 0.

    Raises:
        InputError: Each of them is ignored or has a class weight of 0, so that the mean would be 0 / 0.
    """
    if _neither(spec.train) or weights(spec.train, labels).sum() > 0:
        return labels
    what = f"each label of batch {number} is ignored or has a class weight of 0, and a mean over none is no number"
    raise InputError(spec.name, [Fault("data.batch", f"{what}: raise it, or change ignore_label or class_weights")])


def weights(train: Train, labels: np.ndarray) -> np.ndarray:
    """Return what each label weighs in the mean of cross-entropy: float64, 0 for those that are ignored."""
    counted = np.ones(labels.shape, bool) if train.ignore_label is None else labels != train.ignore_label
    if not train.class_weights:
        return counted.astype(np.float64)
    # A program holds them as float32.
    held = np.array(train.class_weights, np.float32).astype(np.float64)
    return np.where(counted, held[np.where(counted, labels, 0)], 0.0)


def share_of(spec: Spec, labels: np.ndarray) -> np.ndarray | None:
    """Return what each micro-batch weighs in the mean over all of them.

    Args:
        spec: The run.
        labels: Labels of every micro-batch, int64 of shape (micro-batches, ...).

    Returns:
        Float64 of shape (micro-batches,) that sums to 1; None for a spec in which every label weighs the same.
    """
    if _neither(spec.train):
        return None
    sums = weights(spec.train, labels).reshape(len(labels), -1).sum(axis=1)
    return np.asarray(sums / sums.sum())


def _neither(train: Train) -> bool:
    return train.ignore_label is None and not train.class_weights

"""From a source and its order to the batch of any step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .augment import Augment, changed
from .faults import wrong_key
from .mixing import mixed_pair, partners, soft_labels

if TYPE_CHECKING:
    from .order import Order


class Source(Protocol):
    """What gives samples by number."""

    @property
    def count(self) -> int:
        """Return the number of samples."""

    def take(self, samples: np.ndarray) -> dict[str, np.ndarray]:
        """Return samples by name, each with the samples along its first axis."""


@dataclass(frozen=True)
class Feed:
    """Batches of a source; `batch` depends on the step and on nothing that came before.

    Attributes:
        source: Where samples come from.
        order: Which samples a step takes, as places in `kept`.
        kept: The samples that cleaning left.
        augment: How samples with features are changed.
        classes: Number of classes; needed where samples are mixed.
    """

    source: Source
    order: Order
    kept: np.ndarray
    augment: Augment = field(default_factory=Augment)
    classes: int = 0

    def __post_init__(self) -> None:
        if self.order.count != len(self.kept) and self.order.balance is None:
            what = f"the order is of {self.order.count} samples, and {len(self.kept)} are left after cleaning"
            raise wrong_key("data", f"{what}: make the order of what is left")

    def batch(self, step: int) -> dict[str, np.ndarray]:
        """Return a step's batch, counting from 0: what the source gives, changed; mixed labels become `targets`."""
        epoch, places = self.order.at(step)
        samples = self.kept[places]
        made = self._changed(samples, epoch)
        if not self.augment.mixes:
            return made
        others = self.kept[partners(samples, len(self.kept), self.order.seed, epoch)]
        other = self._changed(others, epoch)
        pair = made["features"], other["features"]
        made["features"], share = mixed_pair(pair, samples, self.augment, self.order.seed, epoch)
        if "labels" in made:
            made["targets"] = soft_labels((made.pop("labels"), other["labels"]), share, self.classes)
        else:
            by = share[:, None]
            made["targets"] = made["targets"] * by + other["targets"] * (np.float32(1.0) - by)
        return made

    def _changed(self, samples: np.ndarray, epoch: int) -> dict[str, np.ndarray]:
        made = self.source.take(samples)
        if "features" in made:
            made["features"] = changed(made["features"], samples, self.augment, self.order.seed, epoch)
        return made

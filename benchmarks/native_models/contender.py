"""What is timed: a model, its optimizer and its batches, ready to make steps."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from stackproof.backends.program import Program
    from stackproof.backends.spec import Spec


@dataclass(frozen=True)
class Work:
    """One model's training, the same for every contender.

    Attributes:
        spec: The run.
        program: Its program; its initial tensors are everyone's initial weights.
        batches: Batches in the order of the steps, used again and again.
        mode: How the contender is to execute: `eager`, `graph` or `compiled`, with `-last` for channels last.
    """

    spec: Spec
    program: Program
    batches: Sequence[Mapping[str, np.ndarray]]
    mode: str

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """Return the initial parameters and running statistics by name."""
        return {**self.program.parameters, **getattr(self.program, "state", {})}

    @property
    def last(self) -> bool:
        """Say whether channels come last."""
        return self.mode.endswith("-last")

    @property
    def execution(self) -> str:
        """Return the mode without the layout."""
        return self.mode.partition("-")[0]


class Contender(Protocol):
    """A model that trains."""

    def first(self) -> float:
        """Make the first step, and return its loss."""

    def run(self, count: int) -> float:
        """Make steps, and return the process's CPU seconds for each."""


class Stepping:
    """A contender that makes one step per call.

    Args:
        placed: Batches as the framework takes them.
    """

    def __init__(self, placed: Sequence[Any]) -> None:
        self._placed, self._made = placed, 0

    def step(self, placed: Any) -> Any:
        """Make one step and return its loss."""
        raise NotImplementedError

    def first(self) -> float:
        """Make the first step, and return its loss."""
        return float(self._next())

    def run(self, count: int) -> float:
        """Make steps, and return the process's CPU seconds for each."""
        start = time.process_time()
        losses = [self._next() for _ in range(count)]
        float(losses[-1])
        return (time.process_time() - start) / count

    def _next(self) -> Any:
        self._made += 1
        return self.step(self._placed[(self._made - 1) % len(self._placed)])

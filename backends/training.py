"""Run a spec's steps in a session, and record what happened."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .data import batches
from .program import tensors_digest
from .schedule import rates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from .graph import Input
    from .session import Session
    from .spec import Spec


@dataclass(frozen=True)
class Feed:
    """What every step of a spec needs, made once: batches, and rates of shape (steps, 3)."""

    batches: Sequence[Mapping[str, np.ndarray]]
    rates: np.ndarray


@dataclass(frozen=True)
class Trajectory:
    """What one run did.

    Attributes:
        losses: Loss before each update; None where it was not finite.
        grad_norms: Global gradient norm before clipping at each step; None where it was not finite.
        parameters: Final parameters.
        first_step: Seconds from opening the session's feed to the end of the first step, compilation included.
        rest: Seconds of all further steps.
    """

    losses: tuple[float | None, ...]
    grad_norms: tuple[float | None, ...]
    parameters: Mapping[str, np.ndarray]
    first_step: float
    rest: float

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the final parameters."""
        return tensors_digest(self.parameters)


def make_feed(spec: Spec, inputs: Sequence[Input] = ()) -> Feed:
    """Make a spec's batches and rates; `inputs` are the program's."""
    return Feed(batches(spec, inputs), rates(spec))


def train(session: Session, feed: Feed) -> Trajectory:
    """Make every step of the feed, and wait for the last."""
    placed = [session.place(entry) for entry in feed.batches]
    start = time.perf_counter()
    made = [_first(session, placed[0], feed.rates[0])]
    first = time.perf_counter()
    made.extend(session.step(entry, rate) for entry, rate in zip(placed[1:], feed.rates[1:]))
    session.wait()
    end = time.perf_counter()
    losses, norms = zip(*((_finite(session.read(loss)), _finite(session.read(norm))) for loss, norm in made))
    return Trajectory(losses, norms, session.parameters(), first - start, end - first)


def time_steps(session: Session, feed: Feed, count: int) -> tuple[float, float]:
    """Make `count` steps from the initial parameters, going through the feed again and again.

    Returns:
        Wall seconds and CPU seconds of the process for those steps.
    """
    placed = [session.place(entry) for entry in feed.batches]
    session.wait()
    wall, processor = time.perf_counter(), time.process_time()
    for index in range(count):
        session.step(placed[index % len(placed)], feed.rates[index % len(placed)])
    session.wait()
    return time.perf_counter() - wall, time.process_time() - processor


def _first(session: Session, placed: Any, rate: np.ndarray) -> tuple[Any, Any]:
    made = session.step(placed, rate)
    session.wait()
    return made


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

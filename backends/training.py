"""Run a spec's steps in a session, and record what happened."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .checkpoint import Checkpoint
from .data import batches
from .program import tensors_digest
from .schedule import rates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .checkpoint import Folder
    from .graph import Input
    from .session import Session
    from .spec import Spec


@dataclass(frozen=True)
class Feed:
    """What every step of a spec needs, made once: batches, and rates of shape (steps, 4)."""

    batches: Sequence[Mapping[str, np.ndarray]]
    rates: np.ndarray


@dataclass(frozen=True)
class Trajectory:
    """What one run did.

    Attributes:
        losses: Loss before each update; None where it was not finite.
        grad_norms: Global gradient norm before clipping at each step; None where it was not finite.
        parameters: Final parameters.
        first_step: Seconds of the first step, with compilation that the session left to it.
        rest: Seconds of all further steps; what writing checkpoints takes is no part of it.
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


def train(session: Session, feed: Feed, folder: Folder | None = None, found: Checkpoint | None = None) -> Trajectory:
    """Make every step of the feed, and wait for the last.

    Args:
        session: At its initial parameters.
        feed: What each step needs.
        folder: Where checkpoints are kept; None to keep none.
        found: One to go on from, whose steps are not made again.

    Raises:
        InputError: The checkpoint does not fit the session.
        StackproofError: A checkpoint cannot be written.
    """
    curves, begun = _Curves(session, found), 0 if found is None else found.step
    if found is not None:
        session.restore(found.tensors)
    rows = [(session.place(entry), rate) for entry, rate in zip(feed.batches[begun:], feed.rates[begun:])]
    start = time.perf_counter()
    curves.made.extend(_first(session, *row) for row in rows[:1])
    first, rest = time.perf_counter() - start, 0.0
    for mark in _marks(begun, len(feed.batches), folder):
        start = time.perf_counter()
        curves.made.extend(session.step(*row) for row in rows[curves.count - begun : mark - begun])
        session.wait()
        rest += time.perf_counter() - start
        if folder is not None and mark % folder.every == 0:
            folder.keep(curves.checkpoint(folder))
    losses, norms = curves.read()
    return Trajectory(
        tuple(map(_finite, losses)), tuple(map(_finite, norms)), session.parameters(), first if rows else 0.0, rest
    )


def _marks(begun: int, steps: int, folder: Folder | None) -> list[int]:
    """Return the numbers of steps after which a run stops for a checkpoint, and the last."""
    every = steps if folder is None else folder.every
    return sorted({*range(begun - begun % every + every, steps, every), steps} - {begun})


class _Curves:
    """Losses and norms so far; what a step made stays on the device until it is asked for."""

    def __init__(self, session: Session, found: Checkpoint | None) -> None:
        self._session = session
        self._losses = [] if found is None else found.losses.tolist()
        self._norms = [] if found is None else found.grad_norms.tolist()
        self.made: list[tuple[Any, Any]] = []

    @property
    def count(self) -> int:
        return len(self._losses) + len(self.made)

    def read(self) -> tuple[list[float], list[float]]:
        """Return all losses and norms, as they are."""
        for loss, norm in self.made:
            self._losses.append(self._session.read(loss))
            self._norms.append(self._session.read(norm))
        self.made.clear()
        return self._losses, self._norms

    def checkpoint(self, folder: Folder) -> Checkpoint:
        """Return the run as it is now."""
        losses, norms = (np.array(values, np.float64) for values in self.read())
        held, execution = self._session.saved(), self._session.execution
        return Checkpoint(folder.belonging, len(losses), folder.target, execution, held, losses, norms)


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

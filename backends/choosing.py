"""The fastest way to execute a program, found by trying."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .program import Program
    from .session import Session

# Steps of one trial after the first, which compiles.
_STEPS = 6
# How much faster a later execution has to be: less is the machine's own unrest.
_GAIN = 0.97


def open_fastest(executions: Sequence[str], open_one: Callable[[str], Session], program: Program) -> Session:
    """Open a session in the fastest execution.

    Args:
        executions: What to try, the one to be kept among equals first.
        open_one: Opens a session in an execution.
        program: What the session trains.

    Returns:
        The session at its initial parameters, with the trials on record where there was a choice.
    """
    best, trials = open_one(executions[0]), {}
    if len(executions) == 1:
        return best
    trials[executions[0]] = least = _seconds_per_step(best, program)
    for execution in executions[1:]:
        session = open_one(execution)
        trials[execution] = seconds = _seconds_per_step(session, program)
        if seconds < _GAIN * least:
            best, least = session, seconds
    best.reset(None)
    best.trials = trials
    return best


def _seconds_per_step(session: Session, program: Program) -> float:
    """Return the least wall seconds of a step, over a batch of zeros and with a rate of 0."""
    placed = session.place({entry.name: np.zeros(entry.shape, entry.dtype) for entry in program.inputs})
    rates = np.array([0.0, 1.0, 1.0, 1.0])
    _timed(session, placed, rates)
    return min(_timed(session, placed, rates) for _ in range(_STEPS))


def _timed(session: Session, placed: Any, rates: np.ndarray) -> float:
    start = time.perf_counter()
    session.step(placed, rates)
    session.wait()
    return time.perf_counter() - start

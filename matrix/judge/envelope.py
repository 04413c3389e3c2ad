"""The envelope: how far rounding alone may carry a run of lower precision from the reference.

Its origin is measured, spec by spec: in float64, every operation's result is perturbed by a few float32 rounding errors
(`backends.noise`, `jobs.NOISE_UNIT`), several times over. The spread of those runs, times `SAFETY`, is what is allowed.
Where both numbers come from is in `docs/tolerance.md`, and `benchmarks/tolerance.py` measures it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ...backends.noise import FLOAT32_UNIT
from .evidence import QUANTITIES
from .reference import AGREEMENT, distance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .evidence import Track, Tracks
    from .reference import Reference

# How many times the largest spread seen in the noise runs is allowed.
SAFETY: Final = 1.0
# A run outside the envelope by at most this factor has drifted; further out, it is incorrect.
DRIFT: Final = 10.0
# The rounding of the recorded number itself, in float32 rounding errors.
_FLOOR: Final = 4.0 * FLOAT32_UNIT


@dataclass(frozen=True)
class Envelope:
    """What is allowed, as absolute differences to the reference.

    Attributes:
        scalars: float64 of shape (steps,) by quantity.
        parameters: Largest Euclidean norm of the difference by parameter tensor.
    """

    scalars: Mapping[str, np.ndarray]
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class Departure:
    """Where a run leaves the envelope.

    Attributes:
        excess: Largest difference as a multiple of what is allowed there; at most 1 within the envelope.
        where: The first step and quantity outside, or the place of the largest excess within.
        outside: Whether it leaves the envelope at all.
    """

    excess: float
    where: str
    outside: bool


def measure_envelope(reference: Reference, cells: Sequence[Tracks], precision: str) -> Envelope:
    """Measure the envelope of one spec.

    Args:
        reference: The consensus; cells of frameworks that do not form it are left out.
        cells: All cells of the spec. One whose own float64 run stands apart from the reference counts no more than a
            framework that does: its noise says nothing about right runs.
        precision: Precision of the measured runs; float64 runs are allowed `AGREEMENT` instead.
    """
    wide = precision == "float64"
    pairs = [
        (run, cell.reference)
        for cell in cells
        if cell.framework in reference.frameworks and not wide and _agrees(cell, reference)
        for run in cell.noise
    ]
    floor = AGREEMENT if wide else _FLOOR
    scalars = {name: SAFETY * _spread(pairs, name) + floor * np.abs(reference.scalars[name]) for name in QUANTITIES}
    parameters = {
        name: SAFETY
        * max((float(np.linalg.norm(a.parameters[name] - b.parameters[name])) for a, b in pairs), default=0.0)
        + floor * _scale(reference, name)
        for name in reference.parameters
    }
    return Envelope(scalars, parameters)


def find_departure(track: Track, reference: Reference, envelope: Envelope) -> Departure:
    """Hold a track against the envelope, step by step and then its final parameters."""
    worst, place, first = 0.0, "", ""
    for step in range(track.steps):
        for name in QUANTITIES:
            away = abs(float(track.scalars[name][step]) - float(reference.scalars[name][step]))
            allowed = float(envelope.scalars[name][step])
            where = f"{name} at step {step + 1} (off by {away:.2e}, allowed {allowed:.2e})"
            worst, place, first = _note(away, allowed, where, (worst, place, first))
    for name, value in reference.parameters.items():
        with np.errstate(invalid="ignore"):
            away = float(np.linalg.norm(track.parameters[name] - value))
        allowed = envelope.parameters[name]
        where = f"final parameter {name} (off by {away:.2e}, allowed {allowed:.2e})"
        worst, place, first = _note(away, allowed, where, (worst, place, first))
    return Departure(worst, first or place, outside=bool(first))


def _note(away: float, allowed: float, where: str, so_far: tuple[float, str, str]) -> tuple[float, str, str]:
    worst, place, first = so_far
    excess = _excess(away, allowed)
    if excess > 1.0 and not first:
        first = where
    return (excess, where, first) if excess > worst else (worst, place, first)


def _excess(away: float, allowed: float) -> float:
    """Return a difference as a multiple of what is allowed; where either is not finite, nothing is allowed."""
    if not (np.isfinite(away) and np.isfinite(allowed)):
        return float("inf")
    if allowed:
        return away / allowed
    return float("inf") if away else 0.0


def _agrees(cell: Tracks, reference: Reference) -> bool:
    return distance(cell.reference, reference.scalars, reference.parameters).largest <= AGREEMENT


def _spread(pairs: Sequence[tuple[Track, Track]], name: str) -> np.ndarray | float:
    """Return the largest difference up to each step between noise runs and their framework's own reference."""
    if not pairs:
        return 0.0
    away = np.max([np.abs(run.scalars[name] - own.scalars[name]) for run, own in pairs], axis=0)
    return np.asarray(np.maximum.accumulate(away))


def _scale(reference: Reference, name: str) -> float:
    """Return the larger of a tensor's norm and the norm that a tensor of its size has on average."""
    count = sum(value.size for value in reference.parameters.values())
    total = sum(float(np.sum(value**2)) for value in reference.parameters.values())
    tensor = reference.parameters[name]
    return max(float(np.linalg.norm(tensor)), float(np.sqrt(total / count * tensor.size)))

"""Where things lie on the axis of speed ratios: logarithmic, so that half and double stand equally far from 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .model import stack_id
from .wording import interval

if TYPE_CHECKING:
    from ...compat.verdict import Verdict
    from .model import CellEntry, Report

_TICKS: Final = (0.05, 0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 20.0)
_CLOSEST_TICKS: Final = 11.0
MOST_OPEN: Final = 48


@dataclass(frozen=True)
class Tick:
    """A mark of the axis; `at` is a percentage of its length."""

    at: float
    label: str


@dataclass(frozen=True)
class Mark:
    """One cell's ratio and interval, as percentages of the axis' length."""

    id: str
    stack: str
    verdict: Verdict
    at: float
    low: float
    high: float
    label: str


@dataclass(frozen=True)
class Overview:
    """The chart of all ratios: its ticks, per spec the marks, and whether they are few enough to show all at once."""

    ticks: tuple[Tick, ...]
    specs: tuple[tuple[str, tuple[Mark, ...]], ...]
    short: bool


def lay_out_speeds(report: Report) -> Overview | None:
    """Return the throughput chart over all cells, or None where no cell has a ratio."""
    measured = [cell for cell in report["cells"] if cell["throughput"]]
    ends = [end for cell in measured for end in _ends(cell)]
    if not ends:
        return None
    first, last = math.log(min([*ends, 0.95])), math.log(max([*ends, 1.05]))
    pad = 0.04 * (last - first)

    def at(ratio: float) -> float:
        share = (math.log(max(ratio, 1e-9)) - first + pad) / (last - first + 2 * pad)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def mark(cell: CellEntry) -> Mark:
        low, middle, high = (at(end) for end in _ends(cell))
        return Mark(cell["id"], stack_id(cell), cell["verdict"], middle, low, high, interval(cell))

    specs = dict.fromkeys(cell["spec"] for cell in measured)
    rows = tuple((spec, tuple(mark(cell) for cell in measured if cell["spec"] == spec)) for spec in specs)
    return Overview(_ticks([Tick(at(tick), f"{tick:g}") for tick in _TICKS]), rows, short=len(measured) <= MOST_OPEN)


def _ends(cell: CellEntry) -> tuple[float, float, float]:
    speed = cell["throughput"]
    return (speed["low"], speed["ratio"], speed["high"]) if speed else (1.0, 1.0, 1.0)


def _ticks(ticks: list[Tick]) -> tuple[Tick, ...]:
    """Return the ticks that fit: 1 first, then from it outwards, none on an end or too near the last one kept."""
    one = next(tick for tick in ticks if tick.label == "1")
    kept = [one]
    for tick in sorted(ticks, key=lambda tick: abs(tick.at - one.at)):
        apart = all(abs(tick.at - other.at) >= _CLOSEST_TICKS for other in kept)
        if apart and 0.0 < tick.at < 100.0:  # noqa: PLR2004 - the ends of the axis in percent
            kept.append(tick)
    return tuple(sorted(kept, key=lambda tick: tick.at))

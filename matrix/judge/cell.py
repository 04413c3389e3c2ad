"""The judgement of one cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compat.verdict import Check
from .checks import (
    check_determinism,
    check_reference,
    check_start,
    check_throughput,
    check_trajectory,
    check_versions,
)
from .evidence import QUANTITIES, read_track
from .image import check_image, was_simulated
from .verdict import explain_failed, explain_findings, find_verdict

if TYPE_CHECKING:
    from ...compat.verdict import Level, Throughput, Verdict
    from ..records import CellRecord
    from .checks import Standard
    from .evidence import Tracks
    from .spec import SpecJudge


@dataclass(frozen=True)
class Judgement:
    """What is said of a cell.

    Attributes:
        verdict: The word.
        level: How far it was really taken.
        reasons: Why it is not certified; empty where it is.
        checks: Everything that was looked at.
        throughput: Its speed against the baseline.
        mode: How its steps were executed; None where it did not run.
        mode_why: Why the mode is another than the one asked for.
        curves: Its trajectory beside the reference and what is allowed.
    """

    verdict: Verdict
    level: Level
    reasons: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    throughput: Throughput | None = None
    mode: str | None = None
    mode_why: str = ""
    curves: dict[str, Any] | None = None


def judge_cell(record: CellRecord, judge: SpecJudge, minimum_ratio: float) -> Judgement:
    """Judge a cell.

    Args:
        record: What was made for it.
        judge: What its spec's cells are held against.
        minimum_ratio: Speed ratio below which its whole interval must lie to be `regressed`.
    """
    untried = judge_untried(record, ran=record.cell.id in judge.tracks)
    if untried is not None:
        return untried
    return or_untested(_judge_tracks(record, judge, judge.tracks[record.cell.id], minimum_ratio), record)


def judge_untried(record: CellRecord, *, ran: bool) -> Judgement | None:
    """Judge a cell that no numbers speak of; None for one whose numbers decide.

    Args:
        record: What was made for it.
        ran: Whether there are numbers of it.
    """
    if record.impossible:
        return Judgement("incompatible", "declared", explain_findings(record.impossible))
    failure, looked = record.failure, check_image(record)
    if failure is not None and not failure.outside:
        return Judgement("broken", level_of(record), (failure.reason, *explain_failed(looked)), looked)
    if not ran:
        return _judge_image(record, looked, failure.reason if failure is not None else "it was not run")
    return None


def or_untested(judged: Judgement, record: CellRecord) -> Judgement:
    """Return a judgement; where something outside failed on the way, nothing better than `untested`."""
    if record.failure is not None and judged.verdict == "certified":
        return replace(judged, verdict="untested", reasons=(record.failure.reason,))
    return judged


def _judge_image(record: CellRecord, looked: tuple[Check, ...], why: str) -> Judgement:
    """Judge a cell that was not run by its image alone: one that must not be is no better for it."""
    verdict, reasons = find_verdict(looked, None)
    return Judgement("untested" if verdict == "certified" else verdict, level_of(record), (why, *reasons), looked)


def _judge_tracks(record: CellRecord, judge: SpecJudge, tracks: Tracks, minimum_ratio: float) -> Judgement:
    standard, document = judge.standard, record.run.value
    if standard is None or document is None or record.lock.value is None:
        raise AssertionError("a cell with tracks has a lock, a document and a standard")
    trajectory, departure = check_trajectory(tracks, standard)
    checks = [*check_image(record), trajectory, check_reference(tracks, standard.reference)]
    measured = record.measured.value
    if measured is not None and measured.repeat is not None:
        checks.append(check_determinism(tracks, read_track(measured.repeat, judge.blob), document))
    else:
        checks.append(Check("determinism", "skip", None, "same bits", why_no_repeat(record)))
    checks.append(check_versions(record.lock.value, document))
    if wrong_start := check_start(tracks, judge.start):
        checks.append(wrong_start)
    throughput = measured.throughput if measured else None
    checks.append(check_throughput(throughput, minimum_ratio, why_no_ratio(record)))
    verdict, reasons = find_verdict(checks, departure)
    return Judgement(
        verdict=verdict,
        level=level_of(record),
        reasons=tuple(reasons),
        checks=tuple(checks),
        throughput=throughput,
        mode=tracks.measured.mode,
        mode_why=tracks.measured.why,
        curves=_curves(tracks, standard),
    )


def why_no_repeat(record: CellRecord) -> str:
    """Return why there is no second run to hold a cell's run against."""
    failure = record.measured.failure
    return failure.reason if failure is not None else "it was not run a second time"


def why_no_ratio(record: CellRecord) -> str:
    """Return why a cell has no speed ratio."""
    if record.baseline == record.cell.id:
        return "this is the baseline that others are held against"
    if record.measured.failure is not None:
        return record.measured.failure.reason
    if record.measured.value is None:
        return "speed was not measured"
    if record.baseline is not None:
        return f"speed was not measured beside its baseline {record.baseline}"
    return "there is no baseline to hold it against"


def level_of(record: CellRecord) -> Level:
    """Return how far a cell was really taken."""
    """Return how far a cell was really taken."""
    if record.run.value is not None:
        return "trained-gpu" if record.run.value["platform"]["device"] == "cuda" else "trained-cpu"
    if record.inspected.value is not None:
        return "simulated" if was_simulated(record.inspected.value) else "inspected"
    return "resolved" if record.lock.value is not None else "declared"


def _curves(tracks: Tracks, standard: Standard) -> dict[str, Any]:
    curves: dict[str, Any] = {}
    for name in QUANTITIES:
        curves[name] = numbers(tracks.measured.scalars[name])
        curves[f"reference_{name}"] = numbers(standard.reference.scalars[name])
        curves[f"{name}_allowed"] = numbers(standard.envelope.scalars[name])
    return curves


def numbers(values: np.ndarray) -> list[float | None]:
    """Return what a report shows of numbers: None where one is not finite."""
    return [float(value) if np.isfinite(value) else None for value in values]

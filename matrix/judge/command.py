"""The judgement of cells whose spec has a command of its own.

There is no float64 run and no envelope: the losses are held against the spec's reference, or else against the
baseline's, and those of the repeated run against the first, all with the tolerance that the spec states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ...compat.verdict import Check
from .cell import Judgement, judge_untried, level_of, numbers, or_untested, why_no_ratio, why_no_repeat
from .checks import check_throughput, check_versions
from .envelope import DRIFT, Departure, Envelope, find_departure
from .evidence import read_track
from .reference import Reference
from .verdict import find_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...backends.spec import Spec
    from ..records import CellRecord
    from .evidence import Track

_NOT_FINITE: Final = "not finite"


@dataclass(frozen=True)
class CommandJudge:
    """Everything needed to judge a cell of a spec that has a command.

    Attributes:
        spec: The spec.
        files: Digest of the command's files that every cell was given.
        tracks: What each cell that ran recorded, by cell id.
        blob: Returns a stored file's content by its name.
    """

    spec: Spec
    files: str
    tracks: Mapping[str, Track]
    blob: Callable[[str], bytes]

    @property
    def tolerance(self) -> float:
        """Return the largest relative difference of losses that counts as none."""
        return self.spec.workload.tolerance if self.spec.workload is not None else 0.0


@dataclass(frozen=True)
class _Expected:
    """What a cell's losses are held against; without losses, why not, and whether that leaves the cell untested."""

    losses: np.ndarray | None
    name: str
    lost: bool = False


def judge_commands(spec: Spec, files: str, records: Sequence[CellRecord], blob: Callable[[str], bytes]) -> CommandJudge:
    """Read what every cell of a spec that has a command recorded."""
    mine = [record for record in records if record.cell.spec == spec.name and record.run.value]
    tracks = {record.cell.id: read_track(record.run.value["runs"][0], blob) for record in mine if record.run.value}
    return CommandJudge(spec, files, tracks, blob)


def judge_command(record: CellRecord, judge: CommandJudge, minimum_ratio: float) -> Judgement:
    """Judge a cell whose spec has a command.

    Args:
        record: What was made for it.
        judge: What its spec's cells are held against.
        minimum_ratio: Speed ratio below which its whole interval must lie to be `regressed`.
    """
    untried = judge_untried(record, ran=record.cell.id in judge.tracks)
    if untried is not None:
        return untried
    return or_untested(_judge_track(record, judge, minimum_ratio), record)


def _judge_track(record: CellRecord, judge: CommandJudge, minimum_ratio: float) -> Judgement:
    track, document, lock = judge.tracks[record.cell.id], record.run.value, record.lock.value
    if document is None or lock is None:
        raise AssertionError("a cell with a track has a document and a lock")
    expected = _expected(record, judge)
    trajectory, departure = check_losses(track, expected.losses, judge.tolerance, expected.name)
    checks = [trajectory, _check_repeat(record, judge, track), check_versions(lock, document)]
    if document["program_digest"] != judge.files:
        checks.append(Check("start", "fail", "program", "the bits handed out", "the cell ran other files"))
    throughput = record.measured.value.throughput if record.measured.value else None
    checks.append(check_throughput(throughput, minimum_ratio, why_no_ratio(record)))
    verdict, reasons = find_verdict(checks, departure)
    judged = Judgement(
        verdict=verdict,
        level=level_of(record),
        reasons=tuple(reasons),
        checks=tuple(checks),
        throughput=throughput,
        mode=track.mode,
        mode_why=track.why,
        curves=_curves(track, expected.losses, judge.tolerance),
    )
    if expected.lost and verdict == "certified":
        return replace(judged, verdict="untested", reasons=(expected.name,))
    return judged


def _expected(record: CellRecord, judge: CommandJudge) -> _Expected:
    workload = judge.spec.workload
    if workload is not None and workload.losses:
        return _Expected(np.array(workload.losses), workload.reference)
    if record.baseline is None:
        return _Expected(None, "there is no reference and no baseline to hold its losses against")
    if record.baseline == record.cell.id:
        return _Expected(None, "this is the baseline that others are held against")
    base = judge.tracks.get(record.baseline)
    if base is None:
        return _Expected(None, f"its baseline {record.baseline} did not run", lost=True)
    if not np.isfinite(base.scalars["loss"]).all():
        return _Expected(None, f"its baseline {record.baseline} has losses that are not finite", lost=True)
    return _Expected(base.scalars["loss"], record.baseline)


def check_losses(
    track: Track, expected: np.ndarray | None, tolerance: float, name: str
) -> tuple[Check, Departure | None]:
    """Hold a command's losses against those that are expected.

    Args:
        track: What it reported.
        expected: Finite losses, float64 of shape (steps,); None where there are none.
        tolerance: Largest relative difference that counts as none.
        name: What they are the losses of; without them, why there are none.
    """
    losses = track.scalars["loss"]
    if not np.isfinite(losses).all():
        why = f"the loss at step {int(np.argmin(np.isfinite(losses))) + 1} is not a finite number"
        return Check("trajectory", "fail", _NOT_FINITE, tolerance, why), Departure(float("inf"), why, outside=True)
    if expected is None:
        return Check("trajectory", "skip", None, tolerance, name), None
    departure, largest = _departure(track, expected, tolerance), float(np.max(_relative(losses, expected)))
    if not departure.outside:
        why = f"every loss is that of {name}, within the tolerance"
        return Check("trajectory", "pass", largest, tolerance, why), None
    word = "drift from" if departure.excess <= DRIFT else "are not"
    why = f"the losses {word} those of {name}, first {departure.where}"
    return Check("trajectory", "fail", largest, tolerance, why), departure


def _check_repeat(record: CellRecord, judge: CommandJudge, track: Track) -> Check:
    """Hold the command's second run against its first."""
    measured = record.measured.value
    if measured is None or measured.repeat is None:
        return Check("determinism", "skip", None, judge.tolerance, why_no_repeat(record))
    again = read_track(measured.repeat, judge.blob)
    first, second = track.scalars["loss"], again.scalars["loss"]
    if np.array_equal(first, second, equal_nan=True) and track.digest == again.digest:
        return Check("determinism", "pass", 0.0, judge.tolerance, "two runs of the command reported the same")
    away = _relative(second, first)
    largest = float(np.max(away))
    if largest <= judge.tolerance:
        also = "" if track.digest == again.digest else "; they end in other parameters"
        why = f"two runs of the command reported the same, within the tolerance{also}"
        return Check("determinism", "pass", largest, judge.tolerance, why)
    step = int(np.argmax(away > judge.tolerance)) + 1
    why = f"two runs of the command reported other losses, first at step {step}"
    return Check("determinism", "fail", largest, judge.tolerance, why)


def _departure(track: Track, expected: np.ndarray, tolerance: float) -> Departure:
    nothing = np.zeros_like(expected)
    reference = Reference((), {"loss": expected, "grad_norm": nothing}, {}, {}, 0.0, "")
    envelope = Envelope({"loss": tolerance * np.abs(expected), "grad_norm": nothing}, {})
    return find_departure(
        replace(track, scalars={**track.scalars, "grad_norm": nothing}, parameters={}), reference, envelope
    )


def _relative(losses: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return relative differences, step by step.

    Where both are not finite they are alike; infinitely far apart are a loss from one that is zero, and where one of
    the two is not finite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.abs(losses - expected) / np.abs(expected)
    same = (losses == expected) | (np.isnan(losses) & np.isnan(expected))
    return np.where(same, 0.0, np.where(np.isnan(away), np.inf, away))


def _curves(track: Track, expected: np.ndarray | None, tolerance: float) -> dict[str, list[float | None]]:
    """Return the losses beside those expected; its own where there are none."""
    held = track.scalars["loss"] if expected is None else expected
    return {
        "loss": numbers(track.scalars["loss"]),
        "reference_loss": numbers(held),
        "loss_allowed": numbers(tolerance * np.abs(held)),
        "grad_norm": [],
        "reference_grad_norm": [],
        "grad_norm_allowed": [],
    }

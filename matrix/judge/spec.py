"""What the cells of one spec are held against, found from all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .checks import Standard
from .envelope import measure_envelope
from .evidence import read_tracks
from .reference import find_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...backends.spec import Spec
    from ..records import CellRecord
    from .evidence import Track, Tracks
    from .reference import Reference


@dataclass(frozen=True)
class SpecJudge:
    """Everything needed to judge a cell of one spec.

    Attributes:
        spec: The spec.
        start: Digests of the program and of the data that every cell was given.
        tracks: What each cell that ran recorded, by cell id.
        standard: Reference and envelope; None where no cell ran.
        blob: Returns a stored file's content by its name.
    """

    spec: Spec
    start: Mapping[str, str]
    tracks: Mapping[str, Tracks]
    standard: Standard | None
    blob: Callable[[str], bytes]

    @property
    def reference(self) -> Reference | None:
        """Return the consensus, or None where no cell ran."""
        return self.standard.reference if self.standard else None


def judge_spec(
    spec: Spec, start: Mapping[str, str], records: Sequence[CellRecord], blob: Callable[[str], bytes]
) -> SpecJudge:
    """Find the reference and the envelope of a spec from all of its cells that ran."""
    mine = [record for record in records if record.cell.spec == spec.name and record.run.value]
    tracks = {record.cell.id: read_tracks(record.run.value, blob) for record in mine if record.run.value}
    if not tracks:
        return SpecJudge(spec, start, {}, None, blob)
    reference = find_reference(_votes(mine, tracks))
    envelope = measure_envelope(reference, list(tracks.values()), spec.train.precision)
    return SpecJudge(spec, start, tracks, Standard(reference, envelope), blob)


def _votes(records: Sequence[CellRecord], tracks: Mapping[str, Tracks]) -> dict[str, Track]:
    """Return each framework's vote: the float64 run of its first baseline cell, or else of its first cell."""
    votes: dict[str, Track] = {}
    for record in sorted(records, key=lambda record: record.baseline != record.cell.id):
        cell = tracks[record.cell.id]
        votes.setdefault(cell.framework, cell.reference)
    return votes

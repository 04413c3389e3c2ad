"""What is left out of a set of samples, and why: one pass per reason, in a fixed order, with a report.

The order is: not finite, out of range, too short or too long, exact duplicate, near-duplicate. A sample is dropped for
the first reason that holds; of duplicates the first stays.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import near_text, near_vectors
from .faults import wrong
from .labelled import finite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from .labelled import Labelled
    from .near_text import Documents

NONFINITE, RANGE, LENGTH, EXACT, NEAR = "non-finite", "range", "length", "exact-duplicate", "near-duplicate"
REASONS = (NONFINITE, RANGE, LENGTH, EXACT, NEAR)
_SHOWN = 20


@dataclass(frozen=True)
class Cleaning:
    """What is left out.

    Attributes:
        nonfinite: Whether samples with inf or nan are dropped; else they are an error.
        least: Smallest value that a feature may have; None for no limit.
        most: Largest value that a feature may have; None for no limit.
        shortest: Fewest elements of a document.
        longest: Most elements of a document; 0 for no limit.
        exact: Whether exact duplicates are dropped.
        near: Largest difference of near-duplicates: for documents 1 minus the resemblance, for others the root mean
            square as a share of the range; 0 to keep them.
    """

    nonfinite: bool = False
    least: float | None = None
    most: float | None = None
    shortest: int = 0
    longest: int = 0
    exact: bool = False
    near: float = 0.0


@dataclass
class Report:
    """What was dropped.

    Attributes:
        count: Samples looked at.
        dropped: The reason for each dropped sample, by its place.
        likenesses: The sample that stays, for each that is dropped for its likeness.
    """

    count: int
    dropped: dict[int, str] = field(default_factory=dict)
    likenesses: dict[int, int] = field(default_factory=dict)

    @property
    def kept(self) -> np.ndarray:
        """Return the places of the samples that stay, int64, rising."""
        stays = np.ones(self.count, dtype=bool)
        stays[list(self.dropped)] = False
        return np.flatnonzero(stays)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready tables: counts by reason, and the first samples of each reason."""
        counts = {reason: sum(why == reason for why in self.dropped.values()) for reason in REASONS}
        shown = {reason: self._shown(reason) for reason in REASONS if counts[reason]}
        return {"samples": self.count, "kept": self.count - len(self.dropped), "dropped": counts, "first": shown}

    def drop(self, bad: np.ndarray, reason: str) -> None:
        """Drop the samples of a mask over those that stay."""
        for place in self.kept[bad].tolist():
            self.dropped[place] = reason

    def liken(self, found: Mapping[int, int], reason: str) -> None:
        """Drop what is like another one; both counted among those that stay."""
        kept = self.kept
        for place, other in found.items():
            self.dropped[int(kept[place])] = reason
            self.likenesses[int(kept[place])] = int(kept[other])

    def _shown(self, reason: str) -> list[dict[str, int]]:
        places = sorted(place for place, why in self.dropped.items() if why == reason)[:_SHOWN]
        return [
            {"sample": place, **({"like": self.likenesses[place]} if place in self.likenesses else {})}
            for place in places
        ]


def clean_labelled(data: Labelled, rules: Cleaning) -> Report:
    """Look through samples with labels or targets.

    Raises:
        InputError: Nothing is left.
    """
    report = Report(data.count)
    if rules.nonfinite:
        report.drop(~finite(data), NONFINITE)
    if rules.least is not None or rules.most is not None:
        report.drop(_out_of_range(data.features, report.kept, rules), RANGE)
    if rules.exact:
        report.liken(_same(lambda place: _bytes_of(data, place), report.kept), EXACT)
    if rules.near and len(report.kept):
        report.liken(near_vectors.near_duplicates(data.features[report.kept], rules.near), NEAR)
    return _left(data.source, report)


def clean_documents(documents: Documents, rules: Cleaning, source: Path | str) -> Report:
    """Look through rows of bytes or tokens.

    Raises:
        InputError: Nothing is left.
    """
    report = Report(len(documents.ends))
    sizes = documents.ends - documents.starts
    report.drop((sizes < rules.shortest) | ((sizes > rules.longest) if rules.longest else False), LENGTH)
    if rules.exact:
        starts, raw = documents.starts, documents.flat.view(np.uint8)
        each = documents.flat.itemsize
        report.liken(_same(lambda place: raw[starts[place] * each : documents.ends[place] * each], report.kept), EXACT)
    if rules.near and len(report.kept):
        report.liken(near_text.near_duplicates(documents, 1.0 - rules.near, report.kept), NEAR)
    return _left(source, report)


def _out_of_range(features: np.ndarray, kept: np.ndarray, rules: Cleaning) -> np.ndarray:
    bad = np.zeros(len(kept), dtype=bool)
    for row, place in enumerate(kept.tolist()):
        sample = features[place]
        low = rules.least is not None and float(sample.min()) < rules.least
        bad[row] = low or (rules.most is not None and float(sample.max()) > rules.most)
    return bad


def _bytes_of(data: Labelled, place: int) -> np.ndarray:
    """Return the bytes of a sample with its label: what differs in its label only is no duplicate."""
    parts = [part[place : place + 1] for part in (data.features, data.labels, data.targets) if part is not None]
    return np.concatenate([np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts])


def _same(content: Callable[[int], np.ndarray], kept: np.ndarray) -> dict[int, int]:
    """Return the first of each group of equal contents for the others, as places among those kept."""
    first: dict[bytes, int] = {}
    found: dict[int, int] = {}
    for row, place in enumerate(kept.tolist()):
        digest = hashlib.sha256(content(place).tobytes()).digest()
        if digest in first:
            found[row] = first[digest]
        first.setdefault(digest, row)
    return found


def _left(source: Path | str, report: Report) -> Report:
    if report.count == len(report.dropped):
        counts = {reason: count for reason, count in report.to_dict()["dropped"].items() if count}
        raise wrong(source, f"nothing is left after cleaning ({counts}): loosen the limits, or bring other samples")
    return report

"""The checks of one cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compat.verdict import Check
from .envelope import DRIFT, find_departure
from .reference import AGREEMENT, distance
from .throughput import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...compat.lock import Lock
    from ...compat.verdict import Throughput
    from .envelope import Departure, Envelope
    from .evidence import Track, Tracks
    from .reference import Reference

# An envelope wider than this share of the loss shows little.
_WIDE = 0.1


@dataclass(frozen=True)
class Standard:
    """What the cells of one spec are held against."""

    reference: Reference
    envelope: Envelope


def check_versions(lock: Lock, document: Mapping[str, Any]) -> Check:
    """Hold the versions loaded in the process against the lock."""
    locked = {package.name: package.version for package in lock.packages}
    loaded = document["versions"]
    wrong = [
        f"{name} {loaded.get(name, 'missing')} instead of {version}"
        for name, version in locked.items()
        if loaded.get(name) != version
    ]
    wrong += [
        f"{name} {version}, which the lock does not have" for name, version in loaded.items() if name not in locked
    ]
    wrong += _modules_apart(locked, document["platform"]["modules"])
    count = f"{len(locked)} packages"
    if wrong:
        return Check("versions", "fail", "; ".join(wrong), count, f"the process loaded {wrong[0]}")
    return Check("versions", "pass", count, count, "every version loaded in the process is the locked one")


def _modules_apart(locked: Mapping[str, str], modules: Mapping[str, str]) -> list[str]:
    """Return imported modules whose own version is not the locked one of the distribution that brings them."""
    found = []
    for name, version in modules.items():
        brought = next((locked[d] for d in (name, f"{name}-cpu") if d in locked), None)
        if brought is not None and not _same(brought, version):
            found.append(f"module {name} says {version}, its distribution is locked at {brought}")
    return found


def _same(locked: str, stated: str) -> bool:
    """Say whether a module's own version is the locked one; either may lack the local part."""
    (left, _, build), (right, _, other) = locked.partition("+"), stated.partition("+")
    return left == right and (not build or not other or build == other)


def check_reference(tracks: Tracks, reference: Reference) -> Check:
    """Hold the cell's float64 run against the consensus."""
    away = distance(tracks.reference, reference.scalars, reference.parameters)
    if not reference.agrees:
        return Check("reference", "fail", away.largest, AGREEMENT, reference.why)
    if away.largest <= AGREEMENT:
        if len(reference.frameworks) == 1 and not reference.apart:
            return Check("reference", "pass", away.largest, AGREEMENT, reference.why)
        why = f"the float64 run agrees with {', '.join(reference.frameworks)}"
        return Check("reference", "pass", away.largest, AGREEMENT, why)
    why = f"the float64 run stands apart from {', '.join(reference.frameworks)}, first in {away.first}"
    return Check("reference", "fail", away.largest, AGREEMENT, why)


def check_trajectory(tracks: Tracks, standard: Standard) -> tuple[Check, Departure]:
    """Hold the measured run against the envelope."""
    departure = find_departure(tracks.measured, standard.reference, standard.envelope)
    share = round(departure.excess, 4)
    if not departure.outside:
        why = f"largest excursion is {share} of the envelope, at {departure.where}"
        if not departure.where:
            why = "every number is that of the reference"
        return Check("trajectory", "pass", share, 1.0, why + _where_it_says_little(standard)), departure
    word = "drifts out of" if departure.excess <= DRIFT else "leaves"
    why = f"{word} the envelope first in {departure.where}; at most {share} times what is allowed"
    return Check("trajectory", "fail", share, 1.0, why), departure


def _where_it_says_little(standard: Standard) -> str:
    """Name the first step from which the envelope is so wide that being inside it shows little."""
    loss, allowed = np.abs(standard.reference.scalars["loss"]), standard.envelope.scalars["loss"]
    wide = np.flatnonzero(allowed > _WIDE * loss)
    if not wide.size:
        return ""
    return f"; from step {wide[0] + 1} on the envelope exceeds {_WIDE:.0%} of the loss: being inside it shows little"


def check_determinism(first: Tracks, again: Track, document: Mapping[str, Any]) -> Check:
    """Hold the measured run against the same run in another process, bit for bit."""
    promised = document["platform"]["deterministic"]
    why = document["platform"]["deterministic_why"]
    same = first.measured.digest == again.digest and all(
        np.array_equal(first.measured.scalars[name], values, equal_nan=True) for name, values in again.scalars.items()
    )
    if same:
        return Check("determinism", "pass", "same bits", "same bits", "two processes made the same bits at every step")
    if not promised:
        return Check("determinism", "skip", "other bits", None, f"not promised here: {why}")
    return Check(
        "determinism", "fail", "other bits", "same bits", f"{_first_apart(first.measured, again)}; promised: {why}"
    )


def _first_apart(left: Track, right: Track) -> str:
    for step in range(left.steps):
        for name, values in left.scalars.items():
            if not np.array_equal(values[step], right.scalars[name][step], equal_nan=True):
                return f"two processes differ first in {name} at step {step + 1}"
    return "two processes differ in the final parameters"


def check_throughput(throughput: Throughput | None, minimum: float, why_not: str) -> Check:
    """Hold the candidate's speed against the baseline's; it fails where the whole interval lies below the minimum."""
    if throughput is None:
        return Check("throughput", "skip", None, minimum, why_not)
    shown = round(throughput.ratio, 4)
    span = f"interval {throughput.low:.3f} to {throughput.high:.3f} over {len(throughput.rounds)} rounds"
    if throughput.high < minimum and throughput.confidence < CONFIDENCE:
        why = f"slower than {throughput.baseline} in every round, but {len(throughput.rounds)} are too few to say so"
        return Check("throughput", "skip", shown, minimum, f"{why} with {CONFIDENCE:.0%} confidence; {span}")
    if throughput.high < minimum:
        return Check("throughput", "fail", shown, minimum, f"slower than {throughput.baseline}: {span}")
    return Check("throughput", "pass", shown, minimum, f"against {throughput.baseline}: {span}")


def check_start(tracks: Tracks, expected: Mapping[str, str]) -> Check | None:
    """Return a failed check where the cell did not start from the program and data that were handed out."""
    stated = {"program": tracks.program_digest, "data": tracks.data_digest}
    wrong = [name for name, digest in expected.items() if stated[name] != digest]
    if not wrong:
        return None
    return Check("start", "fail", " and ".join(wrong), "the bits handed out", f"the cell made other {wrong[0]} bits")

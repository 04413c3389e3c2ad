"""The reference: what the frameworks agree on in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from .evidence import QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .evidence import Track

# Largest relative difference between float64 runs of one spec that counts as agreement.
AGREEMENT: Final = 1e-9
# With fewer votes than this, no framework can be outvoted.
_MAJORITY: Final = 3


@dataclass(frozen=True)
class Reference:
    """The consensus of one spec.

    Attributes:
        frameworks: Who forms it.
        scalars: float64 of shape (steps,) by quantity.
        parameters: Final parameters by name.
        apart: Frameworks that stand apart from it, each with where it first does.
        agreement: Largest relative difference of those who form it.
        why: How it came about, in a sentence.
    """

    frameworks: tuple[str, ...]
    scalars: Mapping[str, np.ndarray]
    parameters: Mapping[str, np.ndarray]
    apart: Mapping[str, str]
    agreement: float
    why: str

    @property
    def agrees(self) -> bool:
        """Return whether there is a consensus at all."""
        return bool(self.frameworks)


@dataclass(frozen=True)
class Distance:
    """The largest relative difference of a track to the reference, and where it first exceeds the agreement.

    Attributes:
        largest: The difference; nan where a number is missing.
        first: The place in words, with its difference; empty where it never does.
        place: Its position in the order of the run, to tell which of several tracks departs sooner.
    """

    largest: float
    first: str
    place: int


def find_reference(votes: Mapping[str, Track]) -> Reference:
    """Find what the frameworks agree on.

    Each framework has one vote. The consensus is the element-wise median of the votes (of two, the smaller, so that
    their whole difference counts); a framework further from it than `AGREEMENT` stands apart. If fewer than two of
    several agree, there is no consensus.

    Args:
        votes: A float64 track by framework; at least one.
    """
    scalars, parameters = _median(list(votes.values()))
    distances = {name: distance(track, scalars, parameters) for name, track in votes.items()}
    apart = {name: away.first for name, away in distances.items() if not away.largest <= AGREEMENT}
    members = tuple(sorted(name for name in votes if name not in apart))
    if apart and (len(votes) < _MAJORITY or len(members) == 1):
        soonest = sorted(distances, key=lambda name: distances[name].place)
        members, apart = (), {name: distances[name].first for name in soonest}
    agreement = max((distances[name].largest for name in members), default=float("nan"))
    return Reference(members, scalars, parameters, apart, agreement, _explain(votes, members, apart))


def distance(
    track: Track, scalars: Mapping[str, np.ndarray], parameters: Mapping[str, np.ndarray], allowed: float = AGREEMENT
) -> Distance:
    """Return how far a track is from a reference, relatively.

    A scalar's difference is relative to the reference's value. A parameter tensor's difference is the Euclidean norm
    of the difference, relative to the larger of the tensor's own norm and the norm that a tensor of its size has on
    average.
    """
    found = list(_differences(track, scalars, parameters))
    place = next((index for index, (_, value) in enumerate(found) if not value <= allowed), len(found))
    first = f"{found[place][0]} ({_size(found[place][1])})" if place < len(found) else ""
    return Distance(float(np.max([value for _, value in found])), first, place)


def _differences(
    track: Track, scalars: Mapping[str, np.ndarray], parameters: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, float]]:
    """Return every place with its relative difference, in the order of the run."""
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = {name: np.abs(track.scalars[name] - scalars[name]) / np.abs(scalars[name]) for name in QUANTITIES}
    for step in range(track.steps):
        for name in QUANTITIES:
            same = track.scalars[name][step] == scalars[name][step]
            yield f"{name} at step {step + 1}", 0.0 if same else float(relative[name][step])
    for name, value in parameter_distances(track.parameters, parameters).items():
        yield f"final parameter {name}", value


def _all_diverge(votes: Mapping[str, Track]) -> str:
    """Return the first quantity and step at which no vote has a finite number, or nothing."""
    for step in range(min(track.steps for track in votes.values())):
        for name in QUANTITIES:
            if not any(np.isfinite(track.scalars[name][step]) for track in votes.values()):
                return f"{name} at step {step + 1}"
    return ""


def _size(value: float) -> str:
    return "not a finite number" if np.isnan(value) else f"{value:.1e} relative"


def parameter_distances(mine: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return each tensor's relative distance to the reference; see `distance`."""
    count = sum(value.size for value in reference.values())
    typical = np.sqrt(sum(float(np.sum(value**2)) for value in reference.values()) / count)
    found = {}
    for name, value in reference.items():
        scale = max(float(np.linalg.norm(value)), typical * np.sqrt(value.size))
        with np.errstate(invalid="ignore"):
            away = float(np.linalg.norm(mine[name] - value))
        found[name] = away / scale if scale else away
    return found


def _median(tracks: Sequence[Track]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    scalars = {name: _middle([track.scalars[name] for track in tracks]) for name in QUANTITIES}
    names = tracks[0].parameters
    return scalars, {name: _middle([track.parameters[name] for track in tracks]) for name in names}


def _middle(votes: Sequence[np.ndarray]) -> np.ndarray:
    """Return the element-wise lower median; nan sorts last, so that one vote without a number is outvoted."""
    return np.asarray(np.sort(np.stack(votes), axis=0)[(len(votes) - 1) // 2])


def _explain(votes: Mapping[str, Track], members: tuple[str, ...], apart: Mapping[str, str]) -> str:
    if len(votes) > 1 and (diverged := _all_diverge(votes)):
        return f"the spec itself diverges: every float64 run has no finite {diverged}; lower optimizer.lr"
    if len(votes) == 1 and members:
        return f"{members[0]} alone: no second framework to agree with"
    if len(votes) == 1:
        return f"{next(iter(apart))} alone, and it made no reference: first in {next(iter(apart.values()))}"
    if not members:
        where = next((text for text in apart.values() if text), "")
        return f"{' and '.join(sorted(votes))} disagree in float64, first in {where}; nothing says which one is right"
    if apart:
        return "; ".join(f"{name} stands apart, first in {where}" for name, where in sorted(apart.items()))
    return f"{', '.join(members)} agree in float64"

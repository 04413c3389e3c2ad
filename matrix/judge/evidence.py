"""Evidence as the judge reads it: trajectories of one cell's runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.npz import unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Scalars recorded at every step, in the order in which they are judged within a step.
QUANTITIES = ("loss", "grad_norm")


@dataclass(frozen=True)
class Track:
    """One run's trajectory.

    Attributes:
        scalars: float64 of shape (steps,) by quantity; nan where a value was not finite.
        parameters: Final parameters by name.
        digest: SHA-256 of the final parameters.
        mode: How steps were executed.
        why: Why the mode is another than the one asked for.
    """

    scalars: Mapping[str, np.ndarray]
    parameters: Mapping[str, np.ndarray]
    digest: str
    mode: str
    why: str

    @property
    def steps(self) -> int:
        """Return the number of steps."""
        return len(self.scalars["loss"])


@dataclass(frozen=True)
class Tracks:
    """What one cell's process recorded: the float64 reference run, the measured run, and noise runs."""

    framework: str
    reference: Track
    measured: Track
    noise: tuple[Track, ...]
    program_digest: str
    data_digest: str


def read_tracks(document: Mapping[str, Any], blob: Callable[[str], bytes]) -> Tracks:
    """Read a run's evidence.

    Args:
        document: The evidence as the store keeps it; each run's `parameters_blob` names a stored `.npz` file.
        blob: Returns a stored file's content by its digest.
    """
    made = {run["name"]: read_track(run, blob) for run in document["runs"]}
    noise = tuple(track for name, track in made.items() if name.startswith("noise"))
    return Tracks(
        framework=document["target"],
        reference=made["reference"],
        measured=made["measured"],
        noise=noise,
        program_digest=document["program_digest"],
        data_digest=document["data_digest"],
    )


def read_track(run: Mapping[str, Any], blob: Callable[[str], bytes]) -> Track:
    """Read one run of an evidence document."""
    arrays = unpack(blob(run["parameters_blob"]))
    parameters = {name: value.astype(np.float64) for name, value in arrays.items()}
    return Track(
        scalars={"loss": _scalars(run["losses"]), "grad_norm": _scalars(run["grad_norms"])},
        parameters=parameters,
        digest=run["parameters_digest"],
        mode=run["mode"],
        why=run["why"],
    )


def _scalars(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

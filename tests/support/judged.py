"""Small trajectories and cells as the judge reads them, each stated by its numbers."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from stackproof.compat.cell import Cell, Stack
from stackproof.compat.lock import Lock, Package
from stackproof.matrix.judge.evidence import Track, Tracks
from stackproof.matrix.records import CellRecord, Made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stackproof.matrix.records import Failure, Measured

STEPS = 4
NAN = float("nan")


def track(
    losses: Sequence[float] = (4.0, 3.0, 2.0, 1.0),
    grad_norms: Sequence[float] = (8.0, 6.0, 4.0, 2.0),
    digest: str = "bits",
    **parameters: Sequence[float],
) -> Track:
    """Return a trajectory; the parameters are `weight = [3, 4]` and `bias = [0]` where none are given."""
    given = parameters or {"weight": (3.0, 4.0), "bias": (0.0,)}
    return Track(
        scalars={"loss": np.array(losses, dtype=float), "grad_norm": np.array(grad_norms, dtype=float)},
        parameters={name: np.array(values, dtype=float) for name, values in given.items()},
        digest=digest,
        mode="eager",
        why="",
    )


def tracks(
    measured: Track | None = None,
    reference: Track | None = None,
    noise: Sequence[Track] = (),
    framework: str = "torch",
) -> Tracks:
    """Return what one cell's process recorded."""
    return Tracks(framework, reference or track(), measured or track(), tuple(noise), "program", "data")


def lock_of(**packages: str) -> Lock:
    """Return a lock with these packages; an underscore in a name stands for a hyphen."""
    pins = tuple(Package(name.replace("_", "-"), version, ("sha256:00",)) for name, version in packages.items())
    return Lock("torch2.13.0-py311", "3.11.7", "linux_x86_64", pins, "cpu", "local version")


class Blobs:
    """Stored files by name, kept in memory."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def put(self, **arrays: Sequence[float]) -> str:
        """Keep arrays as one `.npz` file, and return its name."""
        buffer = io.BytesIO()
        np.savez(buffer, **{name: np.array(values, dtype=np.float32) for name, values in arrays.items()})
        content = buffer.getvalue()
        name = f"{hashlib.sha256(content).hexdigest()}.npz"
        self._kept[name] = content
        return name

    def __call__(self, name: str) -> bytes:
        return self._kept[name]


def run_document(blobs: Blobs, name: str, losses: Sequence[float | None], **changes: Any) -> dict[str, Any]:
    """Return one run of an evidence document; gradient norms are twice the losses."""
    weight = changes.pop("weight", (3.0, 4.0))
    return {
        "name": name,
        "losses": list(losses),
        "grad_norms": [None if loss is None else 2.0 * loss for loss in losses],
        "parameters_digest": "bits",
        "parameters_blob": blobs.put(weight=weight),
        "mode": "eager",
        "why": "",
        **changes,
    }


def evidence(blobs: Blobs, target: str = "torch", **changes: Any) -> dict[str, Any]:
    """Return an evidence document of a run where everything is as it should be."""
    losses = changes.pop("losses", (4.0, 3.0, 2.0, 1.0))
    noise = changes.pop("noise", (4.0, 3.0, 2.0, 1.0))
    return {
        "target": target,
        "versions": {"torch": "2.13.0+cpu", "numpy": "2.4.6"},
        "platform": {
            "device": "cpu",
            "device_name": "a processor",
            "modules": {"torch": "2.13.0+cpu"},
            "deterministic": True,
            "deterministic_why": "deterministic algorithms",
        },
        "program_digest": "program",
        "data_digest": "data",
        "peak_memory_bytes": 1000,
        "runs": [
            run_document(blobs, "measured", losses),
            run_document(blobs, "reference", (4.0, 3.0, 2.0, 1.0)),
            run_document(blobs, "noise0", noise),
        ],
        **changes,
    }


def record(
    document: dict[str, Any] | None,
    *,
    spec: str = "tiny",
    stack: Stack | None = None,
    failure: Failure | None = None,
    measured: Made[Measured] | None = None,
    baseline: str | None = None,
) -> CellRecord:
    """Return a cell's record; its lock is the one of `evidence`."""
    cell = Cell(stack or Stack("torch", "2.13.0", "3.11"), spec)
    return CellRecord(
        cell=cell,
        baseline=baseline,
        lock=Made(lock_of(torch="2.13.0+cpu", numpy="2.4.6")),
        run=Made(document, failure),
        measured=measured or Made(),
    )

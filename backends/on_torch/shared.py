"""The rules that are the same on every target, entered for this one."""

from __future__ import annotations

from .. import (
    aligning,
    lookups,
    moving,
    picking,
    quantizing,
    resizing,
    sampling,
    scattering,
    seeded_dropout,
    sequences,
    series,
    trees,
)
from ..kit import register_shared
from . import arrays

__all__ = [
    "aligning",
    "lookups",
    "moving",
    "picking",
    "quantizing",
    "resizing",
    "sampling",
    "scattering",
    "seeded_dropout",
    "sequences",
    "series",
    "trees",
]

register_shared("torch", arrays)

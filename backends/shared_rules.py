"""The modules of rules that are the same on every target; importing them keeps the rules for `kit.register_shared`."""

from __future__ import annotations

from . import (
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

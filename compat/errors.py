"""Errors of the control side; the root of the tree is `backends.errors`.

StackproofError           exit 3
├── InputError            exit 2: the input or usage is wrong (backends.errors)
├── UnsupportedError      exit 2: asked for what cannot be done (backends.errors)
├── OutsideError          exit 3: registry, disk, network or another program failed
│   └── BusyError         exit 3: another run holds the folder
├── UnsolvableError       exit 1: no set of packages satisfies the stack
└── StoppedError          exit 4: interrupted; what was finished is kept
"""

from __future__ import annotations

from typing import ClassVar

from ..backends.errors import Fault, InputError, StackproofError, UnsupportedError, did_you_mean

__all__ = [
    "BusyError",
    "Fault",
    "InputError",
    "OutsideError",
    "StackproofError",
    "StoppedError",
    "UnsolvableError",
    "UnsupportedError",
    "did_you_mean",
]


class OutsideError(StackproofError):
    """Something outside failed: registry, engine, disk or network."""


class BusyError(OutsideError):
    """Another run holds the folder."""


class UnsolvableError(StackproofError):
    """No set of packages satisfies the stack: a version that does not exist, or wheels that this platform lacks."""

    exit_code: ClassVar[int] = 1


class StoppedError(StackproofError):
    """Interrupted by the user; what was finished is kept."""

    exit_code: ClassVar[int] = 4

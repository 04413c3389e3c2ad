"""How images are made: what a matrix may choose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Route = Literal["wheels", "base"]

PREFIX: Final = "/opt/stack"
"""The venv of an image."""

PYTHON: Final = f"{PREFIX}/bin/python"
"""The Python of an image."""

USER: Final = 10001
"""Number of the user, and of the group, that an image runs as."""


@dataclass(frozen=True)
class ImageSettings:
    """How images are made.

    Attributes:
        cuda: Where CUDA libraries come from: `wheels` of the lock, or packages that the `base` has.
        forward_compat: Whether the base's forward-compatibility driver library is put before the host's.
        packages: System packages that a base gets beyond Python, a C++ compiler and certificates.
        labels: Further labels.
        drivers: Drivers that an image's CUDA runtime is asked about: versions such as `550.54.15`.
        gpu: GPU that the binaries must have code for, such as `H100`; empty for that of this machine, if any.
    """

    cuda: Route = "wheels"
    forward_compat: bool = False
    packages: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    drivers: tuple[str, ...] = ()
    gpu: str = ""

"""CUDA levels of drivers, and which CUDA runtimes a level lets start.

A driver's level is the CUDA version that `cuDriverGetVersion` reports and `nvidia-smi` prints, not the driver's own
version such as 550.54.14. Before its first piece of work a runtime makes sure of the least level that it accepts, by
the level itself or by a function that no older driver has; where the driver falls short it answers
`cudaErrorInsufficientDriver` (35).

The rule here was measured. `compat.driver_twin` gave real runtimes a driver of a chosen level, and
`tests/integration/test_driver_twin.py` asks them again:

| runtime | least level | how it is known |
| --- | --- | --- |
| 13.0 to 13.5 | 13.0 | measured |
| 12.0 to 12.6, 12.8, 12.9 | 12.0 | measured |
| 11.7, 11.8 | 11.0 | measured |
| 11.0 to 11.6 | 11.0 | NVIDIA, CUDA Compatibility, Minor Version Compatibility |
| 10.1, 10.2 | its own | measured, with the runtimes inside the wheels of torch 1.4.0 and 1.12.1 |
| up to 10.0 | its own | NVIDIA, CUDA Toolkit Release Notes, the table of toolkits and their least drivers |

No upper bound was seen: a newer level, of a newer major too, starts every runtime. That a runtime starts does not mean
that all of it works: PTX from a toolkit newer than the driver cannot be compiled by it, functions newer than the driver
are missing from it, and a new driver may have dropped an old GPU. Other rules say those.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from .errors import Fault, InputError

Level: TypeAlias = tuple[int, int]

FIRST_FAMILY: Final = 11
"""The first CUDA major within which a driver of any minor starts runtimes of every minor."""

_DOTTED: Final = re.compile(r"(?:CUDA(?:\s+version)?\s*:?\s*)?([1-9][0-9]?)\.([0-9]{1,2})", re.IGNORECASE)
_NUMBER: Final = re.compile(r"([1-9][0-9]?)([0-9]{2})0")
_DRIVER_VERSION: Final = re.compile(r"[0-9]{3}(\.[0-9]+)*")
_SHOWN: Final = 40


def least_level(runtime: Level) -> Level:
    """Say which driver level a CUDA runtime needs to start.

    Args:
        runtime: The runtime's CUDA version, major and minor.

    Returns:
        The least level that it accepts.
    """
    major, _ = runtime
    return (major, 0) if major >= FIRST_FAMILY else runtime


def runtime_loads(runtime: Level, level: Level) -> bool:
    """Say whether a CUDA runtime accepts a driver of some level.

    Args:
        runtime: The runtime's CUDA version, major and minor.
        level: The driver's CUDA level, major and minor.

    Returns:
        Whether it starts; where not, it answers `cudaErrorInsufficientDriver` (35). For a runtime whose major is newer
        than those measured, this is the rule of the majors since 11 carried on.
    """
    return level >= least_level(runtime)


def parse_level(text: str | int, source: str = "driver level") -> Level:
    """Read a driver's CUDA level as people and programs write it.

    Args:
        text: `12.4`, `CUDA 12.4`, `CUDA Version: 12.4`, or the integer that the driver's API uses, such as 12040.
        source: What an error message calls the input.

    Returns:
        Major and minor.

    Raises:
        InputError: It is none of these, such as a driver's own version.
    """
    given = str(text).strip()
    found = _DOTTED.fullmatch(given) or _NUMBER.fullmatch(given)
    if found is None:
        raise InputError(source, [Fault("", _refusal(given))])
    return int(found[1]), int(found[2])


def format_level(level: Level) -> str:
    """Write a level as people do.

    Args:
        level: Major and minor.

    Returns:
        A text such as `12.4`.
    """
    major, minor = level
    return f"{major}.{minor}"


def level_number(level: Level) -> int:
    """Write a level as the driver's API does.

    Args:
        level: Major and minor.

    Returns:
        A number such as 12040.
    """
    major, minor = level
    return major * 1000 + minor * 10


def _refusal(given: str) -> str:
    if _DRIVER_VERSION.fullmatch(given):
        return (
            f"{given!r} is a driver's own version; give the CUDA level that nvidia-smi prints beside it, such as 12.4"
        )
    shown = given if len(given) <= _SHOWN else f"{given[:_SHOWN]}…"
    return f"{shown!r} is not a CUDA level such as 12.4 or 12040"

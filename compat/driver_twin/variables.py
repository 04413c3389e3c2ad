"""The variables under which a program meets the stand-in driver instead of a real one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from ..driver_levels import level_number, parse_level
from ..errors import Fault, InputError

if TYPE_CHECKING:
    from pathlib import Path

_GPU: Final = re.compile(r"[0-9]{1,2}\.[0-9]:[ -~]{1,95}")
_DRIVER: Final = re.compile(r"[0-9]+(\.[0-9]+){1,2}")


def environment(
    twin_folder: Path, level: str | int, gpu: str | None = None, driver: str | None = None
) -> dict[str, str]:
    """Say which variables to add to a program's own, so that it meets the stand-in.

    Args:
        twin_folder: The folder that `build_twin` returned.
        level: The driver's CUDA level, such as `12.4` or 12040.
        gpu: One GPU, as compute capability and name: `8.0:NVIDIA A100`. None for a machine without one.
        driver: The driver's own version, such as `550.54.14`, for programs that ask NVML. None where it is not known.

    Returns:
        The variables, with the folder before what `LD_LIBRARY_PATH` names now; empty ones undo what is set now.

    Raises:
        InputError: The level, the GPU or the driver's version is not of that form.
    """
    number = level_number(parse_level(level))
    faults = [*_faults("gpu", gpu, _GPU, "8.0:NVIDIA A100"), *_faults("driver", driver, _DRIVER, "550.54.14")]
    if faults:
        raise InputError("driver twin", faults)
    paths = [str(twin_folder.absolute()), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {
        "LD_LIBRARY_PATH": os.pathsep.join(paths),
        "STACKPROOF_TWIN_CUDA": str(number),
        "STACKPROOF_TWIN_GPU": gpu or "",
        "STACKPROOF_TWIN_DRIVER": driver or "",
    }


def _faults(key: str, given: str | None, form: re.Pattern[str], example: str) -> list[Fault]:
    if given is None or form.fullmatch(given):
        return []
    return [Fault(key, f"{given!r} is not of the form {example!r}")]

"""Put one question to a real CUDA runtime: do you accept a driver of this level?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..driver_levels import parse_level
from ..errors import Fault, InputError, OutsideError
from .variables import environment

if TYPE_CHECKING:
    from pathlib import Path

    from ..driver_levels import Level

NO_DEVICE: Final = 100
"""`cudaErrorNoDevice`: the runtime accepts the driver, which has no GPU."""

INSUFFICIENT_DRIVER: Final = 35
"""`cudaErrorInsufficientDriver`: the runtime finds the driver too old, or finds none."""

QUESTION: Final = """
import ctypes, json, sys
twin = ctypes.CDLL(sys.argv[1])  # the loader hands this one to whoever asks for libcuda.so.1
try:
    runtime = ctypes.CDLL(sys.argv[2])
    ask, name = runtime.cudaGetDeviceCount, runtime.cudaGetErrorName
except (OSError, AttributeError) as error:
    print(json.dumps({"unusable": str(error)}))
    sys.exit()
name.restype = ctypes.c_char_p
count, version = ctypes.c_int(), ctypes.c_int()
code = ask(ctypes.byref(count))
asked = twin.stackproof_twin_asked()
runtime.cudaRuntimeGetVersion(ctypes.byref(version))
print(json.dumps({"code": code, "name": name(code).decode(), "version": version.value, "asked": asked}))
"""


@dataclass(frozen=True, slots=True)
class RuntimeAnswer:
    """What a CUDA runtime answered when asked for the number of GPUs.

    Attributes:
        code: Its error code, such as 35.
        name: That code's name, such as `cudaErrorInsufficientDriver`.
        runtime: The CUDA version that the runtime says it is of; None from those before 12, which say it only on a
            machine with a GPU.
    """

    code: int
    name: str
    runtime: Level | None

    @property
    def loads(self) -> bool | None:
        """Whether the runtime accepts the driver; None where the answer says neither."""
        return {NO_DEVICE: True, INSUFFICIENT_DRIVER: False}.get(self.code)


def ask_runtime(libcudart: Path, level: str | int, folder: Path, timeout: float = 30.0) -> RuntimeAnswer:
    """Ask a real CUDA runtime whether it accepts a driver of some level, in a process of its own.

    Args:
        libcudart: The runtime's shared library, such as `libcudart.so.12`.
        level: The driver's CUDA level, such as `12.4` or 12040.
        folder: The folder that `build_twin` returned.
        timeout: Seconds to wait for the answer.

    Returns:
        The answer.

    Raises:
        InputError: The level is none, or the library is not a CUDA runtime that this machine can load.
        OutsideError: The process failed, or the runtime did not meet the stand-in.
    """
    variables = {**os.environ, **environment(folder, level)}
    libraries = [str(path.absolute()) for path in (folder / "libcuda.so.1", libcudart)]
    said = _ask([sys.executable, "-I", "-S", "-c", QUESTION, *libraries], variables, timeout)
    if "unusable" in said:
        raise InputError(str(libcudart), [Fault("", f"not a CUDA runtime that loads here: {said['unusable']}")])
    if not said["asked"]:  # without a driver it answers 35 as well
        raise OutsideError(f"{libcudart} answered {said['code']} without asking the driver twin")
    version = parse_level(said["version"]) if said["version"] else None
    return RuntimeAnswer(said["code"], said["name"], version)


def _ask(command: list[str], variables: dict[str, str], timeout: float) -> dict[str, Any]:
    try:
        ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=timeout)
        said: dict[str, Any] = json.loads(ended.stdout)
    except subprocess.TimeoutExpired as error:
        raise OutsideError(f"{command[-1]} did not answer within {timeout:g} s") from error
    except subprocess.CalledProcessError as error:
        raise OutsideError(
            f"{command[-1]} {_end(error.returncode)} instead of answering: {error.stderr[-500:]}"
        ) from error
    except ValueError as error:
        raise OutsideError(f"{command[-1]} gave no answer that can be read: {error}") from error
    return said


def _end(code: int) -> str:
    return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

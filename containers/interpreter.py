"""Python interpreters that environments can be made from."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..compat.errors import UnsolvableError
from .diagnose import diagnose
from .uv import run_uv

if TYPE_CHECKING:
    import threading

_ASK: Final = (
    "import json, platform, sysconfig; print(json.dumps([platform.python_version(), sysconfig.get_platform()]))"
)


@dataclass(frozen=True)
class Interpreter:
    """A Python that environments can be made from.

    Attributes:
        path: The executable; None for one that only an image has.
        version: Its full version, such as `3.11.7`.
        platform: Its platform tag, such as `linux_x86_64`; of one in an image, the newest that its C library takes,
            such as `manylinux_2_36_x86_64`.
    """

    path: Path | None
    version: str
    platform: str


def interpreter_of(version: str, glibc: str, machine: str) -> Interpreter:
    """Return the Python of an image.

    Args:
        version: Its full version, such as `3.11.2`.
        glibc: The image's C library, such as `2.36`.
        machine: The image's processor, such as `x86_64`.
    """
    return Interpreter(None, version, f"manylinux_{glibc.replace('.', '_')}_{machine}")


def find_python(version: str, cancel: threading.Event | None = None) -> Interpreter:
    """Find an interpreter: the running one where it fits, else what uv finds on this machine; none is downloaded.

    Args:
        version: Major and minor version, such as `3.11`.
        cancel: Stops the search when set.

    Raises:
        UnsolvableError: There is none.
        OutsideError: uv could not search.
        StoppedError: `cancel` was set.
    """
    if version == f"{sys.version_info.major}.{sys.version_info.minor}" and sys.implementation.name == "cpython":
        return Interpreter(Path(sys.executable), platform.python_version(), _tag(sysconfig.get_platform()))
    found = run_uv(["python", "find", "--no-project", f"cpython@{version}"], time_limit=60.0, cancel=cancel)
    if found.code != 0:
        raise diagnose(found.stderr).error(f"looking for Python {version}")
    return _ask(Path(found.stdout.strip()), version)


def _ask(path: Path, wanted: str) -> Interpreter:
    try:
        answer = subprocess.run([path, "-I", "-c", _ASK], capture_output=True, check=True, timeout=60.0, text=True)
        version, tag = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
        raise UnsolvableError(
            f"looking for Python {wanted}: {path} was found, but does not run: {error}.\nInstall Python {wanted} so"
            " that it is on PATH, or name another one in the matrix."
        ) from error
    return Interpreter(path, version, _tag(tag))


def _tag(name: str) -> str:
    return name.replace("-", "_").replace(".", "_")

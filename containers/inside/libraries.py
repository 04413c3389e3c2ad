"""Have CUDA's libraries loaded, each in a process of its own, and asked which version they are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .binaries import Binary

_ASKED: Final = re.compile(
    r"lib(cudart|cudnn|nccl|nvrtc|nvJitLink|cublasLt|cublas|cufft|cusolver|cusparse)(_\w+)?\.so[.\d]*"
)
_WITH_PARTS: Final = ("cudnn",)
_PATIENCE: Final = 300.0


def find_libraries(binaries: Iterable[Binary]) -> list[Binary]:
    """Return the CUDA libraries that are told of, of cuDNN all the parts; of each file one name."""
    found: dict[tuple[int, int], Binary] = {}
    for one in binaries:
        match = _ASKED.fullmatch(one.path.rpartition("/")[2])
        if match and "/stubs/" not in one.path and (not match[2] or match[1] in _WITH_PARTS):
            about = Path(one.path).stat()
            found.setdefault((about.st_dev, about.st_ino), one)
    return list(found.values())


def ask_versions(
    command: Sequence[str], libraries: Sequence[Binary], owners: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return what libraries say of themselves.

    Args:
        command: Starts `compat.doctor.ask_libraries`.
        libraries: As `find_libraries` returns them.
        owners: The distribution of each file.
    """
    paths = [one.path for one in libraries]
    said: dict[str, tuple[str | None, str | None]] = {}
    failed = None
    try:
        ended = subprocess.run(
            [*command], input=json.dumps(paths).encode(), capture_output=True, timeout=_PATIENCE, check=False
        )
        for line in ended.stdout.splitlines():
            path, version, error = json.loads(line)
            said[path] = version, error
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        failed = f"it could not be asked: {error}"
    return [_describe(one, owners.get(one.path), *said.get(one.path, (None, failed))) for one in libraries]


def _describe(one: Binary, owner: str | None, version: str | None, error: str | None) -> dict[str, Any]:
    match = _ASKED.fullmatch(one.path.rpartition("/")[2])
    return {
        "component": match[1] if match else "",
        "soname": one.elf.soname or one.path.rpartition("/")[2],
        "path": one.path,
        "owner": owner,
        "version": version,
        "error": error,
    }


def start_of(mode: str) -> list[str]:
    """Return the command that starts this very archive, or folder, in another mode."""
    return [sys.executable, "-I", "-S", sys.argv[0], mode]

"""`pip download`, which fetches the files that a lock names for a platform that need not be this one.

uv resolves and installs, but keeps no wheels.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..compat.errors import OutsideError, StoppedError, UnsolvableError
from . import process
from .diagnose import tidy
from .uv import settings

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ..compat.lock import Lock, Package

_MANYLINUX: Final = re.compile(r"manylinux_2_(?P<minor>[0-9]+)_(?P<machine>\w+)")
_OLDEST: Final = 5
_LEGACY: Final = ("manylinux2014", "manylinux2010", "manylinux1", "linux")
_DOWNLOAD: Final = (
    *("-m", "pip", "--no-input", "--disable-pip-version-check", "download", "--quiet", "--no-cache-dir"),
    *("--require-hashes", "--no-deps", "--only-binary", ":all:", "--progress-bar", "off"),
)
_TICK: Final = 0.1


@dataclass(frozen=True)
class Download:
    """What is to be downloaded.

    Attributes:
        doing: What for, such as `fetching the wheels of torch2.13.0-py311`.
        lock: Says for which Python and platform.
        packages: Which of its packages.
        folder: Where to, an empty folder.
    """

    doing: str
    lock: Lock
    packages: tuple[Package, ...]
    folder: Path


def download(request: Download, cancel: threading.Event | None = None) -> None:
    """Download one wheel of each package, whose content has one of the locked hashes.

    Args:
        request: What.
        cancel: Stops it when set.

    Raises:
        UnsolvableError: The indexes no longer have a wheel that was locked.
        OutsideError: The index or the network failed, or serves other files than those locked.
        StoppedError: `cancel` was set.
    """
    requirements = request.folder / "requirements.txt"
    lines = (f"{package.name}=={package.version} {_hashes(package)}\n" for package in request.packages)
    requirements.write_text("".join(lines), encoding="utf-8")
    where = ["--dest", str(request.folder), "--requirement", str(requirements)]
    code, said = _run_pip(request.doing, [*_DOWNLOAD, *_target(request.lock), *where], cancel)
    if code != 0:
        raise _failure(request.doing, said)


def _hashes(package: Package) -> str:
    return " ".join(f"--hash={value}" for value in package.hashes)


def _target(lock: Lock) -> list[str]:
    """Return what tells pip for which Python and platform to choose, from the newest platform to the oldest."""
    major, minor = lock.python.split(".")[:2]
    match = _MANYLINUX.fullmatch(lock.platform)
    if match is None:
        platforms = [lock.platform]
    else:
        newest, machine = int(match["minor"]), match["machine"]
        platforms = [f"manylinux_2_{number}_{machine}" for number in range(newest, _OLDEST - 1, -1)]
        platforms += [f"{name}_{machine}" for name in _LEGACY]
    abis = (f"cp{major}{minor}", "abi3", "none")
    python = ["--python-version", lock.python, "--implementation", "cp"]
    return [
        *python,
        *(part for abi in abis for part in ("--abi", abi)),
        *(part for platform in platforms for part in ("--platform", platform)),
    ]


def _run_pip(doing: str, arguments: Sequence[str], cancel: threading.Event | None) -> tuple[int, str]:
    """Run pip with the settings that uv has, and return its status and what it said."""
    mark = process.new_mark()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env={**_pip_settings(os.environ), process.MARK: mark},
            start_new_session=True,
        )
        try:
            while not process.has_exited(child):
                if cancel is not None and cancel.wait(_TICK):
                    raise StoppedError(f"{doing} was stopped; nothing that it left half-done is used.")
                if cancel is None:
                    child.wait()
        finally:
            process.end(child, mark)
        said.seek(0)
        return child.returncode, tidy(said.read().decode(errors="replace"))


def _pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return pip's environment: the index settings of uv, which resolved, and none of pip's own files."""
    uv = settings(environ)
    kept = {name: value for name, value in environ.items() if not name.startswith(("PIP_", "UV_"))}
    chosen = {
        "PIP_INDEX_URL": uv.get("UV_DEFAULT_INDEX") or uv.get("UV_INDEX_URL", ""),
        "PIP_EXTRA_INDEX_URL": uv.get("UV_INDEX") or uv.get("UV_EXTRA_INDEX_URL", ""),
        "PIP_FIND_LINKS": " ".join(uv.get("UV_FIND_LINKS", "").split(",")),
        "PIP_NO_INDEX": uv.get("UV_NO_INDEX", ""),
        **{name: environ.get(name, "") for name in ("PIP_CERT", "PIP_CLIENT_CERT", "PIP_PROXY", "PIP_DEFAULT_TIMEOUT")},
    }
    return {**kept, "PIP_CONFIG_FILE": os.devnull, **{name: value for name, value in chosen.items() if value.strip()}}


def _failure(doing: str, said: str) -> OutsideError | UnsolvableError:
    lines = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    why = "\n".join(f"  {line}" for line in lines[:4]) or f"  {said.strip()[-400:] or 'pip said nothing.'}"
    if "No module named pip" in said:
        return OutsideError(f"{doing}: pip is missing beside stackproof.\nInstall stackproof again.")
    if "No matching distribution" in why:
        mend = (
            "Resolve again, or check the index settings: UV_DEFAULT_INDEX, UV_INDEX, UV_FIND_LINKS. A build of PyTorch"
            " such as +cpu or +cu126 must be offered there: the index that uv knows for it is not asked."
        )
        return UnsolvableError(f"{doing}: the indexes do not have what was locked.\n{why}\n{mend}")
    if "THESE PACKAGES DO NOT MATCH THE HASHES" in said:
        return OutsideError(
            f"{doing}: the index serves other files than those locked.\n{why}\nIf they were replaced on purpose,"
            " resolve again; if not, do not trust that index."
        )
    return OutsideError(f"{doing}: pip failed.\n{why}\nCheck network, certificates and disk, and try again.")

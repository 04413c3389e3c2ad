"""From the C sources to the two libraries, compiled once per source and compiler."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from ..errors import OutsideError

LIBRARIES: Final = {"libcuda.c": "libcuda.so.1", "libnvml.c": "libnvidia-ml.so.1"}
"""Each source and the library that it stands in for."""

_SOURCES: Final = Path(__file__).parent
_COMPILERS: Final = ("cc", "gcc", "clang")
_FLAGS: Final = ("-std=c11", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden")
_TIMEOUT: Final = 60.0


def build_twin(cache: Path, compiler: str | None = None) -> Path:
    """Compile the stand-in driver, or find it where it is compiled already.

    Args:
        cache: The folder to keep it in; made where it is not there.
        compiler: A C compiler's name or path; None for the first of cc, gcc and clang that is installed.

    Returns:
        The folder of the libraries, named by the digest of the sources and the compiler.

    Raises:
        OutsideError: There is no C compiler, it failed, or the folder cannot be written.
    """
    tool = _find_compiler(compiler)
    folder = cache / "driver-twin" / _digest(tool)
    if not folder.is_dir():
        try:
            _make(tool, folder)
        except OSError as error:
            raise OutsideError(f"the driver twin cannot be written to {folder.parent}: {error.strerror}") from error
    return folder


def _find_compiler(given: str | None) -> str:
    for name in (given,) if given else _COMPILERS:
        if found := shutil.which(name):
            return found
    missing = f"{given!r} is not an installed C compiler" if given else "there is no C compiler"
    raise OutsideError(f"{missing}, and the driver twin is compiled where it is used: install gcc or clang")


def _digest(tool: str) -> str:
    digest = hashlib.sha256(_run([tool, "--version"]).encode())
    for part in (tool, *_FLAGS):
        digest.update(part.encode() + b"\0")
    for source in sorted(_SOURCES.glob("*.[ch]")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _make(tool: str, folder: Path) -> None:
    """Compile beside the folder and move the whole there, so that it is never seen half-made."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".", ignore_cleanup_errors=True) as made:
        whole = Path(made) / folder.name
        whole.mkdir()
        for source, library in LIBRARIES.items():
            _compile(tool, _SOURCES / source, whole / library)
        _move(whole, folder)


def _compile(tool: str, source: Path, library: Path) -> None:
    said = _run([tool, *_FLAGS, f"-Wl,-soname,{library.name}", "-o", str(library), str(source)])
    if not library.is_file():
        raise OutsideError(f"{tool} made no library of the driver twin and said: {said.strip()[-500:] or 'nothing'}")


def _move(whole: Path, folder: Path) -> None:
    try:
        whole.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was quicker, and its libraries are the same
            raise


def _run(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT).stdout
    except subprocess.CalledProcessError as error:
        raise OutsideError(f"{command[0]} could not compile the driver twin:\n{error.stderr.strip()}") from error
    except subprocess.TimeoutExpired as error:
        raise OutsideError(f"{command[0]} did not end within {_TIMEOUT:.0f} s") from error
    except OSError as error:
        raise OutsideError(f"{command[0]} cannot be run: {error.strerror}") from error

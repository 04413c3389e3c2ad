"""Finish what a step of a build added: compile it, take rights off it, and set its times.

Runs inside a build, with the base's own Python: Python 3.9 syntax and the standard library, and nothing of ours. What
is new is told by its time: all of earlier layers has `EPOCH`, and stays as it is, so that nothing is kept twice.

    python3 -s -S finish.py FOLDER [FURTHER PATH...]
"""

from __future__ import annotations

import os
import stat
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from py_compile import PycInvalidationMode, PyCompileError
from py_compile import compile as compile_file

EPOCH = 1700000000
# Bytes of compiled code depend on what the same process compiled before: each share is fixed, whatever the cores.
_SHARES = 8
_LEFT_BY_UV = (".lock", ".gitignore", "CACHEDIR.TAG")
_STAMP = "uv_cache.json"
_FORBIDDEN = stat.S_ISUID | stat.S_ISGID | stat.S_IWGRP | stat.S_IWOTH


def finish(folder: Path, further: tuple[Path, ...] = ()) -> None:
    """Finish all that is new in a folder, the folder itself among it, and further paths.

    Args:
        folder: The environment.
        further: Other paths that the step changed; what is below them is left alone.

    Raises:
        OSError: The disk refused something.
        SystemExit: A module could not be compiled for another reason than its own syntax.
    """
    for name in _LEFT_BY_UV:
        if os.path.lexists(folder / name):
            (folder / name).unlink()
    for path in _find_new(folder):
        if path.name == _STAMP and path.parent.suffix == ".dist-info":
            _forget(path)
    _compile([path for path in _find_new(folder) if path.suffix == ".py" and path.is_file()])
    for path in (*_find_new(folder), *further):
        _settle(path)


def _forget(stamp: Path) -> None:
    """Remove the note in which uv keeps the time of a local wheel, which differs from build to build."""
    stamp.unlink()
    record = stamp.parent / "RECORD"
    own = f"{stamp.parent.name}/{_STAMP},".encode()
    record.write_bytes(
        b"".join(line for line in record.read_bytes().splitlines(keepends=True) if not line.startswith(own))
    )


def _find_new(folder: Path) -> list[Path]:
    """Return what earlier steps have not settled, sorted."""
    found = [folder]
    for place, folders, files in os.walk(folder):
        found += [Path(place, name) for name in (*folders, *files)]
    return sorted(path for path in found if path.lstat().st_mtime_ns != EPOCH * 10**9)


def _settle(path: Path) -> None:
    """Let only its owner change a path, with nobody's rights but the caller's, and give it the time of all others."""
    mode = path.lstat().st_mode
    if not stat.S_ISLNK(mode) and mode & _FORBIDDEN:
        path.chmod(stat.S_IMODE(mode) & ~_FORBIDDEN)
    os.utime(path, (EPOCH, EPOCH), follow_symlinks=False)


def _compile(modules: list[Path]) -> None:
    """Compile modules; what Python cannot read, such as templates, stays as it is."""
    children = [_start(modules[number::_SHARES]) for number in range(_SHARES)]
    endings = [os.waitpid(child, 0)[1] for child in children]
    if any(endings):
        raise SystemExit("compiling failed; what was refused is above")


def _start(share: list[Path]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _compile_share(share)
            code = 0
        except OSError as error:
            os.write(2, f"{error}\n".encode())
        finally:
            os._exit(code)
    return child


def _compile_share(share: list[Path]) -> None:
    warnings.simplefilter("ignore")
    for path in share:
        with suppress(PyCompileError):
            compile_file(str(path), doraise=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)


if __name__ == "__main__":
    finish(Path(sys.argv[1]), tuple(map(Path, sys.argv[2:])))

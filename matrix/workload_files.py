"""The files of a spec's own command: which they are, what they hold, and how they go to where it runs."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from ..compat.errors import Fault, InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..backends.spec import Spec
    from ..backends.spec_workload import Workload
    from ..compat.cell import Cell
    from .config import Matrix

MOST_BYTES: Final = 64 * 1024 * 1024
_MOST_FILES: Final = 10_000
_LARGEST: Final = sys.float_info.max
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can state
_UNIX: Final = 3
_LEFT_OUT: Final = frozenset({"__pycache__", ".git"})


def with_files(spec: Spec, path: Path) -> Spec:
    """Return a spec that knows the files of its command, and the losses of its reference, by their content.

    Args:
        spec: A spec that has a command.
        path: The spec file, which the files' paths are relative to.

    Raises:
        InputError: A file is missing, lies elsewhere, is too large or is another one than the spec's `digest` says; or
            the reference holds no losses of every step.
    """
    workload, folder = _workload(spec), path.parent.resolve()
    faults: list[Fault] = []
    files = workload.files or _named(workload.command, folder, faults)
    known = replace(workload, files=files, losses=_losses(spec, folder, faults))
    content = b"" if faults else _pack(folder, files, faults)
    found = hashlib.sha256(content).hexdigest()
    if not faults and workload.digest and workload.digest != found:
        what = f"the files of the command have the SHA-256 {found}: they are others now; write this digest"
        faults.append(Fault("workload.digest", f"{what}, or remove the key"))
    if faults:
        raise InputError(str(path), faults)
    return replace(spec, workload=replace(known, digest=found), folder=str(folder))


def pack_files(spec: Spec) -> bytes:
    """Return the files of a spec's command as a zip, the same bytes for the same content.

    Raises:
        InputError: They are others than when the spec was read.
    """
    workload = _workload(spec)
    faults: list[Fault] = []
    content = _pack(Path(spec.folder), workload.files, faults)
    if not faults and hashlib.sha256(content).hexdigest() != workload.digest:
        faults.append(Fault("workload.files", "changed while they were read: run it again when they are at rest"))
    if faults:
        raise InputError(spec.name, faults)
    return content


def check_engine_of_commands(matrix: Matrix, cells: Sequence[Cell], engine: str) -> None:
    """Refuse cells whose spec has a command of its own where cells run in images.

    Args:
        matrix: The matrix.
        cells: Those of its cells that are to be certified.
        engine: `venv`, `docker` or `podman`.

    Raises:
        InputError: One has such a spec, and the engine is no venv.
    """
    wanted = {cell.spec for cell in cells}
    names = [spec.name for spec in matrix.specs if spec.workload is not None and spec.name in wanted]
    if names and engine != "venv":
        what = f"{', '.join(names)}: a spec with [workload] runs in a venv only, not in an image of {engine}"
        mend = "leave out --engine, or name other cells with --cell"
        raise InputError(matrix.source, [Fault("specs", f"{what}; {mend}")])


def _workload(spec: Spec) -> Workload:
    if spec.workload is None:
        raise TypeError(f"{spec.name} has no command")
    return spec.workload


def _named(command: Sequence[str], folder: Path, faults: list[Fault]) -> tuple[str, ...]:
    """Return the words of a command that are files beside the spec; a script that is not there is a fault."""
    named = []
    for place, word in enumerate(command):
        try:
            there = not word.startswith(("-", "/")) and (folder / word).is_file()
        except (OSError, ValueError):
            there = False
        if there and ".." not in PurePosixPath(word).parts:
            named.append(str(PurePosixPath(word)))
        elif word.endswith(".py") and not word.startswith(("-", "/")):
            scripts = [path.name for path in folder.glob("*.py")]
            near = did_you_mean(word, scripts) if scripts else "its path is relative to the spec file"
            faults.append(Fault(f"workload.command[{place}]", f"there is no {word} beside the spec; {near}"))
    return tuple(dict.fromkeys(named))


def _pack(folder: Path, files: Sequence[str], faults: list[Fault]) -> bytes:
    buffer, size = io.BytesIO(), 0
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in _all(folder, files, faults):
            size += path.stat().st_size
            if size > MOST_BYTES:
                limit = f"{MOST_BYTES // 2**20} MiB together"
                what = f"are more than {limit}, and are copied for each run: leave data out, and read it from"
                faults.append(Fault("workload.files", f"{what} the folder that STACKPROOF_SPEC_FOLDER names"))
                break
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = (0o100755 if os.access(path, os.X_OK) else 0o100644) << 16
            archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()


def _all(folder: Path, files: Sequence[str], faults: list[Fault]) -> list[Path]:
    """Return every file that is named or lies in a folder that is, sorted by name."""
    found: set[Path] = set()
    for place, name in enumerate(files):
        where, path = f"workload.files[{place}]", folder / name
        mine = list(_below(path))
        if not path.exists():
            faults.append(Fault(where, f"there is no {name} beside the spec: its path is relative to the spec file"))
        elif not mine:
            faults.append(Fault(where, f"{name} holds no file: remove it from the list"))
        away = [entry for entry in mine if not entry.resolve().is_relative_to(folder)]
        if away:
            what = f"{away[0].relative_to(folder)} is a link that leads out of the spec's folder: copy the file there"
            faults.append(Fault(where, what))
        found.update(mine)
    if len(found) > _MOST_FILES:
        faults.append(Fault("workload.files", f"are {len(found)} files, more than {_MOST_FILES}: name fewer folders"))
    return [] if faults else sorted(found, key=lambda entry: entry.relative_to(folder).as_posix())


def _below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for entry in path.rglob("*") if path.is_dir() else ():
        if entry.is_file() and not _LEFT_OUT.intersection(entry.relative_to(path).parts):
            yield entry


def _losses(spec: Spec, folder: Path, faults: list[Fault]) -> tuple[float, ...]:
    """Return the losses of the reference: a list of numbers, or what `train --json` writes."""
    name = _workload(spec).reference
    if not name:
        return ()
    try:
        held = json.loads((folder / name).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else "it cannot be read as JSON"
        mend = "write it with stackproof train --json before this key is there"
        faults.append(Fault("workload.reference", f"{name}: {why}; {mend}"))
        return ()
    losses = held.get("losses") if isinstance(held, dict) else held
    sound = isinstance(losses, list) and all(type(loss) in {int, float} and abs(loss) <= _LARGEST for loss in losses)
    if not sound or not isinstance(losses, list):
        faults.append(Fault("workload.reference", f"{name} holds no list of finite losses, nor a table with one"))
        return ()
    if len(losses) != spec.train.steps:
        what = f"{name} has {len(losses)} losses and train.steps is {spec.train.steps}: they must be as many"
        faults.append(Fault("workload.reference", what))
    return tuple(map(float, losses))

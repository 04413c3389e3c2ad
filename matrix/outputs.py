"""Files that a command writes where its user says: looked at before anything is done, and put in place whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..compat.errors import Fault, InputError
from .store import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def check_outputs(command: str, outputs: Mapping[str, Path | None], inputs: Iterable[Path]) -> None:
    """Refuse files that cannot be written, or that would be lost.

    Args:
        command: The command, for the message.
        outputs: The file of each option; None where it is not given.
        inputs: Files that are read, and files that belong to them.

    Raises:
        InputError: An output is no ordinary file or lies in no folder, is an input (by a link too), or two are one.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    kept = [path for path in inputs if path.exists()]
    faults = [Fault(option, what) for option, path in given.items() if (what := _wrong(path, kept))]
    places: dict[str, str] = {}
    for option, path in given.items():
        first = places.setdefault(os.path.realpath(path), option)
        if first != option:
            faults.append(Fault(option, f"{path} is the file of {first} too: give each its own"))
    if faults:
        raise InputError(command, faults)


def write_output(path: Path, content: bytes) -> None:
    """Put a whole file in place at once; where the path is a link, what it leads to is replaced.

    Raises:
        InputError: The folder or the disk refuses; what was there before still is.
    """
    try:
        replace_file(Path(os.path.realpath(path)), content)
    except OSError as error:
        what = f"cannot be written ({error.strerror or error}): make room, or choose another file"
        raise InputError(str(path), [Fault("", what)]) from error


def _wrong(path: Path, inputs: Iterable[Path]) -> str:
    """Return what is wrong with a file to write, or an empty string."""
    try:
        if path.is_dir():
            return f"{path} is a folder: give the name of a file in it"
        if path.exists() and not path.is_file():
            return f"{path} is a device, a pipe or a socket: give the name of a file"
        if path.exists() and any(path.samefile(other) for other in inputs):
            return f"{path} is read by this command, and would be lost: give another file"
        if Path(os.path.realpath(path)).is_symlink():
            return f"{path} is a link that leads to itself: give another file"
        above = next(folder for folder in Path(os.path.realpath(path)).parents if folder.exists())
        return "" if above.is_dir() else f"{path} cannot be made, for {above} is a file: give another folder"
    except OSError as error:
        return f"{path} cannot be written ({error.strerror or error}): give another file"

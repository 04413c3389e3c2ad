"""Arrays of files, mapped into memory; files that would need pickle are refused."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING

import numpy as np

from .faults import wrong

if TYPE_CHECKING:
    from pathlib import Path

_BROKEN = (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)
_MEND = "write it anew with numpy.save or numpy.savez, from an array of plain numbers"
_PLAIN = "biuf"


def read_npy(path: Path) -> np.ndarray:
    """Map a .npy file.

    Raises:
        InputError: The file is cut short, holds no array of plain numbers, or would need pickle.
    """
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except _BROKEN as error:
        raise wrong(path, f"cannot be read as .npy ({error}): {_MEND}") from error
    return _plain(path, "the array", array)


def read_npz(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Read those of the named arrays that a .npz file holds.

    Raises:
        InputError: As for `read_npy`.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: _plain(path, name, archive[name]) for name in names if name in archive.files}
    except (*_BROKEN, AttributeError, TypeError) as error:
        raise wrong(path, f"cannot be read as .npz ({error}): {_MEND}") from error


def _plain(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in _PLAIN:
        raise wrong(path, f"{name} has dtype {array.dtype}, which is no plain number: {_MEND}")
    return array

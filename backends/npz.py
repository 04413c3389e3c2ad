"""Arrays by name in one `.npz` file, whatever the names are.

`numpy.savez` takes names as keywords and `numpy.load` leaves their endings out, so that `file`, `allow_pickle` and two
tensors called `w` and `w.npy` are lost or confused. Here each array's member is its name and `.npy`, exactly.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

_ENDING = ".npy"
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as the bytes of one `.npz` file, which `numpy.load` reads too.

    Raises:
        ValueError: An array holds objects.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, value in arrays.items():
            with archive.open(name + _ENDING, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(value), allow_pickle=False)
    return buffer.getvalue()


def unpack(content: bytes) -> dict[str, np.ndarray]:
    """Read back what `pack` or `numpy.savez` wrote.

    Raises:
        ValueError: The bytes are no whole `.npz` file, or a member is no array of plain numbers.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.namelist()
            if len(set(members)) < len(members) or not all(member.endswith(_ENDING) for member in members):
                raise ValueError("the file holds something else than arrays, each of its own name")
            return {member[: -len(_ENDING)]: _read(archive.read(member)) for member in members}
    except _BROKEN as error:
        raise ValueError(f"the bytes are no whole .npz file ({error})") from error


def _read(content: bytes) -> np.ndarray:
    made: np.ndarray = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return made

"""Tar streams from an engine: read as they come, and taken out without trusting what they name."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from ...compat.errors import OutsideError
from . import sdk
from .context import name_fault
from .wire import call

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .connect import Engine

_BUFFER: Final = 1024 * 1024


class Stream(io.RawIOBase):
    """Pieces of bytes as a file that is read once.

    Args:
        pieces: The pieces, in order.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what is there; 0 at the end."""
        view = memoryview(buffer).cast("B")
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def read_archive(engine: Engine, container: str, path: str) -> sdk.Response:
    """Return the response that brings a file or folder of a container as a tar stream.

    Raises:
        docker.errors.NotFound: It is not there.
    """
    return call(engine, "GET", f"/containers/{container}/archive", params={"path": path})


def open_archive(pieces: Iterable[bytes]) -> tarfile.TarFile:
    """Open a tar stream for reading once, from front to end."""
    return tarfile.open(fileobj=io.BufferedReader(Stream(pieces), _BUFFER), mode="r|")


def take_out(pieces: Iterable[bytes], target: Path) -> None:
    """Write the one file or folder of a tar stream to a path; regular files and folders only.

    Args:
        pieces: The stream; all names in it begin with the same part.
        target: Path of the file or folder to make.

    Raises:
        OutsideError: It names something outside of that, holds something else, or the disk refused it.
    """
    try:
        with open_archive(pieces) as archive:
            for member in archive:
                _take_member(archive, member, target)
    except sdk.requests().exceptions.RequestException:
        raise  # an OSError, too, but not the disk's
    except OSError as error:
        raise OutsideError(
            f"{target}: what a container made cannot be written: {error.strerror or error}. Free some space there, or"
            " name another folder."
        ) from error
    except tarfile.TarError as error:
        raise OutsideError(f"the engine sent a container's files cut off or broken ({error}). Try again.") from error


def _take_member(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    first, *below = PurePosixPath(member.name).parts or ("",)
    if first in {"", "/", ".."} or (below and name_fault("/".join(below))):
        raise OutsideError(f"a container's files name {member.name!r}, which leaves their folder: it is not taken.")
    path = target.joinpath(*below)
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
    elif member.isreg() and (file := archive.extractfile(member)) is not None:
        with file, path.open("wb") as written:
            shutil.copyfileobj(file, written, _BUFFER)
    else:
        raise OutsideError(f"{member.name!r} in a container is neither a file nor a folder: it is not taken.")

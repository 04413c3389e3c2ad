"""Files for an engine as a tar stream: the same bytes for the same files, and nothing that was not named."""

from __future__ import annotations

import os
import stat
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Final

from ...compat.errors import Fault, InputError, OutsideError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_BLOCK: Final = tarfile.BLOCKSIZE
_CHUNK: Final = 1024 * 1024
_LONGEST_PART: Final = 255  # bytes; what file systems take
_EXECUTABLE: Final = 0o111


@dataclass(frozen=True)
class Entry:
    """One file or folder of a tar stream.

    Attributes:
        name: Its path there, relative.
        source: A file on this machine, or the content itself; None for a folder.
        owner: Numbers of user and group.
        mode: Permission bits; None for 0644, or 0755 for an executable file and for a folder.
    """

    name: str
    source: Path | bytes | None
    owner: tuple[int, int] = (0, 0)
    mode: int | None = None


def write_context(files: Mapping[str, Path | bytes], stream: IO[bytes]) -> None:
    """Write files as a tar stream: sorted, without owners and times, modes 0644 or 0755.

    Args:
        files: Name in the context -> a file on this machine, or the content itself.
        stream: Where to write.

    Raises:
        InputError: A name could leave the context, or a source is no regular file.
        OutsideError: A file cannot be read.
    """
    for chunk in pack(entries_of(files)):
        stream.write(chunk)


def entries_of(files: Mapping[str, Path | bytes]) -> tuple[Entry, ...]:
    """Return checked entries for files, sorted by name.

    Raises:
        InputError: A name could leave the context, or a source is no regular file; all of them are named.
    """
    faults = [fault for name in sorted(files) for fault in _faults_of(name, files[name])]
    faults += _collisions(files)
    if faults:
        raise InputError("build context", faults)
    return tuple(Entry(name, files[name]) for name in sorted(files))


def pack(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Yield a tar stream in pieces of at most 1 MiB; only one piece is held at a time.

    Raises:
        OutsideError: A file cannot be read, or shrank while it was read.
    """
    written = 0
    for entry in entries:
        for piece in _pack_one(entry):
            written += len(piece)
            yield piece
    end = 2 * _BLOCK
    yield bytes(end + -(written + end) % tarfile.RECORDSIZE)


def name_fault(name: str) -> str:
    """Say what is wrong with a relative path that an engine is to be given; empty where nothing is."""
    parts = name.split("/")
    if not name.isprintable() or "\\" in name:
        return "holds a character that is not allowed in a file name: use printable ones, and no backslash"
    if name.startswith("/") or ".." in parts:
        return "leaves the folder: give a relative path without `..`"
    if "" in parts or "." in parts or any(len(part.encode(errors="replace")) > _LONGEST_PART for part in parts):
        return "is no file name: its parts must be neither empty nor `.` nor longer than 255 bytes"
    return ""


def _faults_of(name: str, source: Path | bytes) -> list[Fault]:
    what = name_fault(name) or ("" if isinstance(source, bytes) else _source_fault(source))
    return [Fault(repr(name), what)] if what else []


def _source_fault(source: Path) -> str:
    try:
        real = source.resolve(strict=True)
        kind = real.stat().st_mode
    except (OSError, RuntimeError) as error:
        return f"{source} cannot be read ({getattr(error, 'strerror', None) or error}): name a file that is there"
    if not stat.S_ISREG(kind):
        return f"{source} is no regular file: name a file"
    if source.is_symlink() and real.parent != source.parent.resolve():
        return f"{source} is a link that leaves its folder: name the file itself"
    return ""


def _collisions(files: Mapping[str, Path | bytes]) -> list[Fault]:
    """Find names that are a file and a folder at once."""
    folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
    return [
        Fault(repr(name), "is a file and a folder at once: rename one") for name in sorted(files) if name in folders
    ]


def _pack_one(entry: Entry) -> Iterator[bytes]:
    info = tarfile.TarInfo(entry.name)
    info.uid, info.gid = entry.owner
    if entry.source is None:
        info.type, info.mode = tarfile.DIRTYPE, entry.mode or 0o755
        yield info.tobuf(tarfile.PAX_FORMAT)
    elif isinstance(entry.source, bytes):
        info.size, info.mode = len(entry.source), entry.mode or 0o644
        yield info.tobuf(tarfile.PAX_FORMAT)
        yield from (entry.source[start : start + _CHUNK] for start in range(0, info.size, _CHUNK))
    else:
        yield from _pack_file(entry, info, entry.source)
    yield bytes(-info.size % _BLOCK)


def _pack_file(entry: Entry, info: tarfile.TarInfo, source: Path) -> Iterator[bytes]:
    try:
        with source.open("rb") as file:
            found = os.fstat(file.fileno())
            info.size = found.st_size
            info.mode = entry.mode or (0o755 if found.st_mode & _EXECUTABLE else 0o644)
            yield info.tobuf(tarfile.PAX_FORMAT)
            left = info.size
            while left and (piece := file.read(min(left, _CHUNK))):
                left -= len(piece)
                yield piece
    except OSError as error:
        raise OutsideError(f"{source}: cannot be read: {error.strerror or error}. Mend that, and try again.") from error
    if left:
        raise OutsideError(f"{source}: became shorter while it was read. Let nothing change it, and try again.")

"""Find the CUDA libraries that installed packages bring, and whose they are."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..described import Library
from .elf import NotElfError, read_elf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..gather import Gathered
    from .installed import Installed

# The libraries that are told of; of cuDNN all the parts.
_TRACKED: Final = r"lib(?:cudart|cudnn(?:_\w+)?|nccl|cublas|cublasLt|nvJitLink|nvrtc|cusparse)\.so(?:\.[\d.]+)?"
_NAME: Final = re.compile(_TRACKED)
_LINE: Final = re.compile(rf'^"?((?:[^,\n"]*/)?{_TRACKED})"?,[^,\n]*,(\d*)\r?$', re.MULTILINE)
_MOST_BYTES: Final = 64 * 1024 * 1024
_FOLDERS: Final = ("nvidia/*/lib", "nvidia/*/lib64", "torch/lib")


def is_tracked(name: str) -> bool:
    """Return whether a library's name is one of those that are told of, such as `libcudnn_ops.so.9`."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A file that a package's record claims.

    Attributes:
        owner: The package.
        path: The file.
        size: Its size by the record, if that says one.
    """

    owner: str
    path: Path
    size: int | None


def read_records(installed: Iterable[Installed], gathered: Gathered) -> list[Recorded]:
    """Return the tracked libraries that installed packages' records claim.

    Args:
        installed: The packages.
        gathered: Gets what could not be read to its end.
    """
    return [record for one in installed for record in _read_record(one, gathered)]


def _read_record(one: Installed, gathered: Gathered) -> Iterator[Recorded]:
    path = one.about / "RECORD"
    try:
        if not path.is_file():
            return
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        gathered.skip(f"{path}: {error.strerror}")
        return
    if len(data) > _MOST_BYTES:
        gathered.skip(f"{path}: only its first {_MOST_BYTES // 1024**2} MiB were read")
    if b".so" not in data:
        return
    for match in _LINE.finditer(data.decode("utf-8", "replace")):
        yield Recorded(one.name, Path(os.path.normpath(one.site / match[1])), int(match[2][:18] or 0) or None)


def list_libraries(sites: Iterable[Path], records: Iterable[Recorded], gathered: Gathered) -> list[Library]:
    """Return the tracked libraries as they lie in packages' folders, with their owners.

    Args:
        sites: Folders of packages.
        records: What packages' records claim.
        gathered: Gets what is no library.
    """
    claims: dict[Path, list[Recorded]] = {}
    for record in records:
        claims.setdefault(record.path, []).append(record)
    lying = (path for site in sites for folder in _FOLDERS for path in _list(site, folder))
    paths = dict.fromkeys([*claims, *(path for path in lying if path not in claims)])
    return [library for path in paths if (library := _look(path, claims.get(path, []), gathered)) is not None]


def _list(site: Path, folder: str) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for found in sorted(site.glob(folder)):
            yield from sorted(path for path in found.iterdir() if is_tracked(path.name))


def _look(path: Path, claims: list[Recorded], gathered: Gathered) -> Library | None:
    owners = [record.owner for record in claims]
    try:
        size = path.stat().st_size
        soname = read_elf(path).soname or path.name
    except NotElfError:
        gathered.skip(f"{path}: it is no shared library, or is cut short")
        return None
    except FileNotFoundError:
        return Library(path.name, str(path), None, owners[0], tuple(owners[1:]), missing=True) if owners else None
    except OSError as error:
        gathered.skip(f"{path}: {error.strerror}")
        return None
    fitting = [record.owner for record in claims if record.size == size]
    ordered = tuple(dict.fromkeys([*fitting, *owners]))
    altered = bool(claims) and not fitting and all(record.size is not None for record in claims)
    return Library(soname, str(path), None, ordered[0] if ordered else None, ordered[1:], altered=altered)

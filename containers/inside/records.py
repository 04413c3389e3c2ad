"""Hold installed distributions against the files that really lie there.

An installer records each file with its size (PyPA, Recording installed projects). What no distribution recorded, what
is gone and what has another size was not installed from the wheels that a lock names.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .walking import Entry

# What Python and installers write beside packages without recording it: compiled modules, and what makes a venv a venv.
_UNRECORDED: Final = re.compile(
    r"/__pycache__(?:/|$)|/_virtualenv\.(?:py|pth)$|\.dist-info/(?:RECORD|REQUESTED|uv_cache\.json)$"
)
_SIZE_COLUMN: Final = 2


@dataclass(frozen=True)
class Installed:
    """The distributions of an environment.

    Attributes:
        versions: Version by normalised name.
        sites: Folders that they are installed in.
        sizes: For each recorded path, the sizes that were recorded; None where none was.
        owners: For each recorded path, the distribution.
        faults: What of a distribution could not be read, by its folder.
    """

    versions: dict[str, str] = field(default_factory=dict)
    sites: set[str] = field(default_factory=set)
    sizes: dict[str, set[int | None]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)


def read_installed(folders: Iterable[str]) -> Installed:
    """Read the distributions that Python finds in folders, with what they recorded.

    Args:
        folders: Entries of `sys.path`.
    """
    found = Installed()
    for folder in dict.fromkeys(folders):
        if Path(folder).is_dir():
            for one in metadata.distributions(path=[folder]):
                _note(one, folder, found)
    return found


def _note(one: metadata.Distribution, folder: str, found: Installed) -> None:
    about = str(getattr(one, "_path", folder))
    try:
        name, version = one.metadata["Name"], one.metadata["Version"]
        record = one.read_text("RECORD")
    except (OSError, ValueError, KeyError) as error:
        found.faults[about] = str(error) or type(error).__name__
        return
    if not name or not version:
        found.faults[about] = "its metadata names no distribution"
        return
    name = re.sub(r"[-_.]+", "-", str(name)).lower()
    if name in found.versions:
        found.faults[about] = f"{name} is installed twice"
        return
    found.versions[name] = str(version)
    found.sites.add(folder)
    if record is None:
        found.faults[about] = f"{name} has no record of its files"
        return
    for path, size in _rows(record, folder):
        found.sizes.setdefault(path, set()).add(size)
        found.owners.setdefault(path, name)


def _rows(record: str, folder: str) -> Iterator[tuple[str, int | None]]:
    with contextlib.suppress(csv.Error):
        for row in csv.reader(record.splitlines()):
            if row:
                text = row[_SIZE_COLUMN] if len(row) > _SIZE_COLUMN else ""
                path = row[0] if row[0].startswith("/") else f"{folder}/{row[0]}"
                yield os.path.normpath(path), int(text) if text.isdigit() and len(text) < len("9" * 18) else None


def compare(installed: Installed, entries: Mapping[str, Entry]) -> dict[str, list[str]]:
    """Return the files that do not fit their records.

    Args:
        installed: The distributions.
        entries: What lies there, by path; all of `installed.sites` among it.

    Returns:
        Paths under `missing`, `altered` and `unrecorded`.
    """
    inside = tuple(f"{site}/" for site in installed.sites)
    recorded = {path: sizes for path, sizes in installed.sizes.items() if not _UNRECORDED.search(path)}
    return {
        "missing": [path for path in recorded if path not in entries and not Path(path).exists()],
        "altered": [
            path for path, sizes in recorded.items() if path in entries and not {None, entries[path].size} & sizes
        ],
        "unrecorded": [
            path
            for path, entry in entries.items()
            if path.startswith(inside) and entry.is_file and path not in recorded and not _UNRECORDED.search(path)
        ],
    }

"""Walk a file tree once: no link is followed, and nothing that is mounted over the image is entered."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_OCTAL: Final = re.compile(r"\\([0-7]{3})")
_MOUNTS: Final = Path("/proc/self/mountinfo")
_POINT: Final = 4


class Entry(NamedTuple):
    """One file, folder, link or socket.

    Attributes:
        path: Its path, as the system's functions take it.
        mode: Its kind and permissions, as `stat` has them.
        size: Bytes.
    """

    path: str
    mode: int
    size: int

    @property
    def is_file(self) -> bool:
        """Return whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def name(self) -> str:
        """Return the last part of its path."""
        return self.path.rpartition("/")[2]


def walk(root: str, mounted: frozenset[str], unreadable: list[str]) -> Iterator[Entry]:
    """Yield all that lies below a folder, the folder itself left out.

    Args:
        root: The folder.
        mounted: Paths that are no part of the image.
        unreadable: Gets the folders that could not be read to their end.
    """
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as found:
                for one in found:
                    if one.path in mounted:
                        continue
                    about = one.stat(follow_symlinks=False)
                    yield Entry(one.path, about.st_mode, about.st_size)
                    if stat.S_ISDIR(about.st_mode):
                        waiting.append(one.path)
        except OSError:
            unreadable.append(folder)


def find_mounts() -> frozenset[str]:
    """Return the paths below the root on which something else is mounted."""
    lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    points = [fields[_POINT] for line in lines if len(fields := line.split(" ")) > _POINT]
    return frozenset(_OCTAL.sub(lambda code: chr(int(code[1], 8)), point) for point in points) - {"/"}


def show(path: str) -> str:
    """Return a path as text that any encoding can hold: bytes that are no text, and control characters, by number."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in text)

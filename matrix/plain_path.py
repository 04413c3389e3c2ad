"""Paths that every compiler takes: torch builds its compiler's command line without quoting them."""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MISREAD: Final = re.compile(r"[\s'\"\\\\]")


@contextmanager
def plain_path(folder: Path) -> Iterator[Path]:
    """Yield a path of a folder without white space, quotes and backslashes: its own, or that of a link to it.

    Raises:
        OSError: The folder for temporary files cannot be written.
    """
    if not _MISREAD.search(str(folder)):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="stackproof-") as place:
        link = Path(place) / "folder"
        link.symlink_to(folder, target_is_directory=True)
        yield link

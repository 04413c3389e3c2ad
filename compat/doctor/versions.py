"""Ask libraries themselves which version they are, each file once, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .asking import Asked, Deadline
from .records import is_tracked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..described import Library
    from ..gather import Gathered

_QUESTIONS: Final = Path(__file__).with_name("ask_libraries.py")
_PATIENCE: Final = 9.0
_NUMBERED: Final = re.compile(r"\.so\.(\d+\.\d+\.\d+)$")


class Versions:
    """What libraries say of themselves. They are asked at once, and answer while other things are read.

    Args:
        libraries: The libraries to begin with.
    """

    def __init__(self, libraries: Iterable[Library]) -> None:
        self._said: dict[str, str | None] = {}
        self._asked = self._ask(_files(libraries).values())

    def give(self, libraries: list[Library], gathered: Gathered, deadline: Deadline) -> list[Library]:
        """Return libraries with the version that each says it is, or that its file's full name has.

        Args:
            libraries: Libraries, also such as were not known at the beginning.
            gathered: Gets which of them could not be asked.
            deadline: When to stop.
        """
        self._collect(gathered, deadline)
        files = _files(libraries)
        self._asked = self._ask(path for path in files.values() if path not in self._said)
        self._collect(gathered, deadline)
        return [replace(one, version=self._version(files.get(one.path))) for one in libraries]

    def _version(self, file: str | None) -> str | None:
        if file is None:
            return None
        named = _NUMBERED.search(file)
        return self._said.get(file) or (named[1] if named else None)

    @staticmethod
    def _ask(files: Iterable[str]) -> Asked | None:
        paths = sorted(set(files))
        return Asked([sys.executable, "-I", "-S", _QUESTIONS], json.dumps(paths)) if paths else None

    def _collect(self, gathered: Gathered, deadline: Deadline) -> None:
        if self._asked is None:
            return
        written, failed = self._asked.answer(deadline.left(_PATIENCE))
        if failed:
            gathered.skip(f"asking the libraries for their versions: {failed}")
        for line in written.splitlines():
            try:
                path, version, error = json.loads(line)
            except ValueError:
                continue
            self._said[path] = version
            if error:
                gathered.skip(f"{path} does not say its version: {error}")


def _files(libraries: Iterable[Library]) -> dict[str, str]:
    """Return the real files, by path."""
    return {one.path: os.path.realpath(one.path) for one in libraries if not one.missing and is_tracked(one.soname)}

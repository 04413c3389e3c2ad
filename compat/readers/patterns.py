"""Patterns that are compiled when first used: a reader knows many, and one input needs few."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Lazy:
    """A regular expression with the methods of a compiled one."""

    __slots__ = ("_compiled", "_flags", "_text")

    def __init__(self, text: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._text = text
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    def _get(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        return self._compiled

    def match(self, text: str) -> re.Match[str] | None:
        """Match at the start of a text."""
        return self._get().match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Match a whole text."""
        return self._get().fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        """Match anywhere in a text."""
        return self._get().search(text)

    def finditer(self, text: str, start: int = 0, end: int = 2**62) -> Iterator[re.Match[str]]:
        """Give all matches between two positions."""
        return self._get().finditer(text, start, min(end, len(text)))

    def groups(self, text: str) -> list[tuple[str, ...]]:
        """Return the groups of every match; one that took no part is empty."""
        return [match.groups("") for match in self._get().finditer(text)]

    def split(self, text: str) -> list[str]:
        """Split a text at the matches."""
        return [part for part in self._get().split(text) if part is not None]

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """Replace the matches in a text."""
        return self._get().sub(replacement, text, count)

"""Find which versions of the C and C++ libraries' symbols are there, and which are needed, and by what."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ...compat.doctor.elf import NotElfError, highest, read_elf

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .binaries import Binary
    from .linking import Traced

_FAMILIES: Final = {"GLIBC": "libc.so.6", "GLIBCXX": "libstdc++.so.6", "CXXABI": "libstdc++.so.6"}


def read_symbols(binaries: Iterable[Binary], traced: Mapping[str, Traced]) -> dict[str, dict[str, Any]]:
    """Return, by family, the highest version that is there, the highest needed, and one binary that needs it.

    Args:
        binaries: The binaries.
        traced: What the loader said of each: the library that it finds for most of them is the one that is there.
    """
    needed = {family: _highest_needed(binaries, f"{family}_") for family in _FAMILIES}
    return {
        family: {"has": _version_of(_usual(library, traced), f"{family}_"), "needs": version, "by": path}
        for family, library in _FAMILIES.items()
        for version, path in [needed[family]]
    }


def _usual(library: str, traced: Mapping[str, Traced]) -> str | None:
    counted = Counter(said.found[library] for said in traced.values() if library in said.found)
    return next((path for path, _ in counted.most_common(1)), None)


def _version_of(path: str | None, prefix: str) -> str | None:
    try:
        return None if path is None else highest(read_elf(path).gives, prefix)
    except (OSError, NotElfError):
        return None


def _highest_needed(binaries: Iterable[Binary], prefix: str) -> tuple[str | None, str | None]:
    by = {version: one.path for one in binaries if (version := highest(one.elf.needs, prefix)) is not None}
    top = highest(frozenset(prefix + version for version in by), prefix)
    return top, by.get(top or "")

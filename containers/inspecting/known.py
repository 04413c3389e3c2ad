"""What is known of binaries and files in real images: which libraries may lack, which programs run as their owner."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).resolve().parents[1] / "data"


@dataclass(frozen=True)
class OptionalLibrary:
    """Libraries that some binaries need and an image rightly lacks.

    Attributes:
        files: Patterns of the binaries' paths.
        needs: Patterns of the libraries' names.
        reason: Why nothing is wrong.
        source: Where that was seen.
    """

    files: tuple[str, ...]
    needs: tuple[str, ...]
    reason: str
    source: str


@lru_cache(maxsize=1)
def optional_libraries() -> tuple[OptionalLibrary, ...]:
    """Return what is known of libraries that may be absent."""
    rows = tomllib.loads((_FOLDER / "optional_libraries.toml").read_text(encoding="utf-8"))["library"]
    return tuple(OptionalLibrary(tuple(r["files"]), tuple(r["needs"]), r["reason"], r["source"]) for r in rows)


def why_absent(file: str, needs: str) -> str | None:
    """Return why a binary may lack a library that it needs; None where it may not."""
    for one in optional_libraries():
        if any(fnmatchcase(file, pattern) for pattern in one.files) and any(
            fnmatchcase(needs, pattern) for pattern in one.needs
        ):
            return one.reason
    return None


@lru_cache(maxsize=1)
def usual_setuid() -> frozenset[str]:
    """Return the programs of distributions that run as their owner or group."""
    return frozenset(tomllib.loads((_FOLDER / "usual_setuid.toml").read_text(encoding="utf-8"))["paths"])

"""Releases of packages, and what each declares of others."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from packaging.version import Version

from .facts import Row, load_table

# Tables of builds that name further releases of a package.
_TABLES: Final = {"torch": "torch", "tensorflow": "tensorflow", "jax": "jax"}
_WHOLE: Final = 12
# Packages that are releases of another under a further name, where no facts of their own are known.
_ALIASES: Final = {"tensorflow-cpu": "tensorflow", "tensorflow-gpu": "tensorflow"}


@lru_cache(maxsize=1)
def _by_package() -> dict[str, tuple[Row, ...]]:
    found: dict[str, list[Row]] = {}
    for row in load_table("packages").rows:
        found.setdefault(row["package"], []).append(row)
    return {name: tuple(rows) for name, rows in found.items()}


def package_rows(name: str) -> tuple[Row, ...]:
    """Return the facts of a package's releases; none for a package that is not followed."""
    return _rows(name) if name in _by_package() or name in _ALIASES else ()


@lru_cache(maxsize=4096)
def _rows(name: str) -> tuple[Row, ...]:
    own = _by_package().get(name, ())
    seen = {release for row in own for release in row["versions"]}
    others = _by_package().get(_ALIASES.get(name, ""), ())
    return (*(row for row in others if not seen & set(row["versions"])), *own)


def known_releases(name: str) -> frozenset[str]:
    """Return the releases of a package that are known."""
    followed = name in _by_package() or name in _ALIASES or name in _TABLES
    return _releases(name) if followed else frozenset()


@lru_cache(maxsize=4096)
def _releases(name: str) -> frozenset[str]:
    found = {release for row in package_rows(name) for release in row["versions"]}
    table = _TABLES.get(name)
    found |= {str(row[table]) for row in load_table(table).rows} if table else set()
    return frozenset(found)


@lru_cache(maxsize=4096)
def releases_of(name: str) -> tuple[str, ...]:
    """Return the releases of a package that are known, oldest first."""
    return tuple(sorted(known_releases(name), key=Version))


def newest_release(name: str) -> str:
    """Return the newest release known of a package; empty for a package that is not followed."""
    releases = releases_of(name)
    return releases[-1] if releases else ""


@lru_cache(maxsize=4096)
def whole_releases(name: str) -> tuple[str, ...]:
    """Return the releases of a package whose list is known as a whole; none where only a few of them are known.

    Only a whole list says that no release lies in a range.
    """
    releases = releases_of(name)
    return releases if len(releases) >= _WHOLE else ()


@lru_cache(maxsize=65536)
def row_of(name: str, release: str) -> Row | None:
    """Return the facts of one release."""
    return next((row for row in package_rows(name) if release in row["versions"]), None)

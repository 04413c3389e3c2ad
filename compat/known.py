"""What is known of one component's version: exactly one release, a range, a build only, or nothing but its presence.

Releases are compared by PEP 440. A vendor's snapshot (`2.4.0a0+07cecf4168.nv24.05`) counts as the release that it is
on the way to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from collections.abc import Iterable

_PARTIAL: Final = re.compile(r"\d+(\.\d+)?")
_LONGEST: Final = 200
_KEPT: Final = 2**18  # more than the longest list of packages, so that settling finds what reading parsed
_BEYOND: Final = 99999
_RELEASES: Final = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d{1,9})*")
_EXACT: Final = re.compile(r"==\s*([0-9][\w.!]*)(?!\.\*)")


class Holds(Enum):
    """Whether a condition holds of every version that is possible."""

    ALWAYS = "always"
    NEVER = "never"
    SOMETIMES = "sometimes"


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What is known of a version. Two are the same only if they are one object: `parse_known` keeps one per text.

    Attributes:
        text: As it was written, such as `2.1.0+cu121`, `*`, `*+cu128`, `2.*` or `>=2.1,<3`.
        version: The one release, without its build; None for a range or where nothing is known.
        allowed: The range, where it is one.
        build: The build tag behind `+`, such as `cu121` or `cuda11.cudnn86`.
        vendor: Whether the release is a vendor's snapshot, compared as the release that it is on the way to.
    """

    text: str
    version: Version | None = None
    allowed: SpecifierSet | None = field(default=None, repr=False)
    build: str | None = None
    vendor: bool = False

    @property
    def is_exact(self) -> bool:
        """Return whether one release is known."""
        return self.version is not None

    @property
    def is_open(self) -> bool:
        """Return whether nothing but presence, or the build alone, is known."""
        return self.version is None and self.allowed is None

    def __str__(self) -> str:
        return self.text

    def holds(self, condition: str, releases: tuple[str, ...] = ()) -> Holds:
        """Return whether a condition holds of what is known.

        Args:
            condition: A PEP 440 specifier set, such as `>=2.1,<3`; the empty one holds of everything.
            releases: Releases that exist, to look through where only a range is known.
        """
        if not condition:
            return Holds.ALWAYS
        return _decide(_specifier(condition), self._candidates(condition, releases))

    def _candidates(self, condition: str, releases: tuple[str, ...]) -> Iterable[Version]:
        if self.version is not None:
            return (self.version,)
        real = [version for version in map(_version, releases) if version is not None]
        candidates = real or points(condition, str(self.allowed or ""))
        if self.allowed is None:
            return candidates
        allowed = self.allowed
        return [point for point in candidates if allowed.contains(point, prereleases=True)]


def _decide(wanted: SpecifierSet, candidates: Iterable[Version]) -> Holds:
    answers = {wanted.contains(candidate, prereleases=True) for candidate in candidates}
    if answers == {True}:
        return Holds.ALWAYS
    return Holds.NEVER if answers == {False} else Holds.SOMETIMES


@lru_cache(maxsize=_KEPT)
def points(*conditions: str) -> tuple[Version, ...]:
    """Return versions below, at and above each version that conditions name: enough to tell ranges apart."""
    named = [tuple(map(int, text.split("."))) for text in _RELEASES.findall(" ".join(conditions))]
    releases = {(0,), (_BEYOND,), *(near for parts in named for near in _near(parts))}
    exact = [found for text in _EXACT.findall(" ".join(conditions)) if (found := _version(text)) is not None]
    return (*(Version(".".join(map(str, release))) for release in sorted(releases)), *exact)


def _near(parts: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    above = (*parts[:-1], parts[-1] + 1)
    near = (parts, (*parts, 1), (*parts, _BEYOND), above, (*above, _BEYOND))
    return (*near, (*parts[:-1], parts[-1] - 1, _BEYOND)) if parts[-1] else near


@lru_cache(maxsize=4096)
def _specifier(condition: str) -> SpecifierSet:
    return SpecifierSet(condition)


@lru_cache(maxsize=_KEPT)
def _version(text: str) -> Version | None:
    if len(text) > _LONGEST:
        return None
    try:
        return Version(text)
    except (InvalidVersion, ValueError):  # ValueError: more digits than Python converts
        return None


@lru_cache(maxsize=_KEPT)
def parse_known(text: str) -> Known | None:
    """Return what a version's text says.

    Args:
        text: A release with or without a build (`2.1.0+cu121`), `*` (present), `*+cu128` (only the build is known),
            a prefix (`2.*`, or `2.18`, which people write for any 2.18 release) or a range (`>=2.1,<3`).

    Returns:
        What is known, the same object for the same text; None where the text is none of these.
    """
    written = text.strip()
    if len(written) > _LONGEST:
        return None
    release, _, build = written.partition("+")
    if release in {"*", ""}:
        return Known(written or "*", build=build.lower() or None)
    if _PARTIAL.fullmatch(release):
        return _range(written, f"=={release}.*", build)
    if (version := _version(written)) is not None:
        return _exact(written, version)
    if re.fullmatch(r"\d+(\.\d+)*\.\*", release):
        return _range(written, f"=={release}", build)
    return _range(written, release, build) if release[0] in "<>=!~" else None


def _exact(text: str, version: Version) -> Known:
    build = (version.local or "").lower() or None
    vendor = version.is_prerelease and build is not None
    if build is None:
        return Known(text, version)
    return Known(text, Version(version.base_version if vendor else version.public), None, build, vendor)


def _range(text: str, condition: str, build: str) -> Known | None:
    try:
        return Known(text, None, _specifier(condition), build.lower() or None)
    except (InvalidSpecifier, ValueError):
        return None

"""Collect what readers find, and settle what several places say of one component."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .described import COMPONENTS, PLURAL, Claim, Description, Library, canonical, parse_name
from .known import Holds, Known, parse_known
from .names import normalise

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_NAMES: Final = frozenset({"gpu", "os", "machine"})
_LOOSE: Final = re.compile(r"\d+(?:\.\d+)*(?:[.\-+]?[a-z0-9]+)*", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)*")
_LINE: Final = 300
_SETTLED: Final = 200  # values of one component, above which nothing is settled


@dataclass(eq=False)
class Gathered:
    """What readers have found so far. Readers call its verbs; `describe` settles the whole.

    Nothing that is given is dropped: what is no version goes to what was not understood.
    """

    claims: dict[str, list[Claim]] = field(default_factory=dict)
    packages: set[str] = field(default_factory=set)
    extras: dict[str, set[str]] = field(default_factory=dict)
    env_vars: dict[str, str] = field(default_factory=dict)
    arch_list: list[str] = field(default_factory=list)
    arch_range: tuple[str, str] | None = None
    origins: set[str] = field(default_factory=set)
    required: list[str] = field(default_factory=list)
    built_against: list[tuple[str, str, str]] = field(default_factory=list)
    libraries: list[Library] = field(default_factory=list)
    floating: set[str] = field(default_factory=set)
    not_understood: list[str] = field(default_factory=list)

    def add_package(self, name: str, version: str, where: str, extras: Collection[str] = ()) -> None:
        """Note a package: an exact version, `*`, `*+cu128`, a prefix or a range."""
        key = normalise(name)
        if parse_known(version) is None:
            self.skip(f"{name} {version}")
            return
        self.packages.add(key)
        self.claims.setdefault(key, []).append(Claim(version.strip(), where))
        if extras:
            self.extras.setdefault(key, set()).update(map(normalise, extras))

    def add_component(self, name: str, text: str, where: str) -> None:
        """Note a component of `COMPONENTS`. Words around a version are left out: `12.1 (container)`, `8.5.0 (loaded)`.

        Values set apart by `/` or `;` are several claims: `550.163.01 / 570.158.01`.
        """
        if name not in COMPONENTS:
            raise KeyError(name)
        pieces = [text] if name in _NAMES else re.split(r"[/;]", text)
        for piece in pieces:
            value = piece.strip() if name in _NAMES else _find_version(piece)
            if value:
                self.claims.setdefault(name, []).append(Claim(value, where))
            elif piece.strip():
                self.skip(f"{name}: {piece.strip()}")

    def skip(self, text: str) -> None:
        """Note something that was not understood."""
        shown = text.strip()
        if shown:
            self.not_understood.append(shown if len(shown) <= _LINE else f"{shown[:_LINE]}…")

    def describe(self) -> Description:
        """Return the whole, with what several places say of one component settled where they agree."""
        return Description(
            known={name: _settle(name, claims) for name, claims in self.claims.items()},
            packages=frozenset(self.packages),
            claims={name: tuple(claims) for name, claims in self.claims.items()},
            extras={name: frozenset(extras) for name, extras in self.extras.items()},
            env_vars=dict(self.env_vars),
            arch_list=tuple(self.arch_list),
            arch_range=self.arch_range,
            origins=frozenset(self.origins),
            required=tuple(dict.fromkeys(self.required)),
            built_against=tuple(dict.fromkeys(self.built_against)),
            libraries=tuple(self.libraries),
            floating=frozenset(self.floating),
            not_understood=tuple(self.not_understood),
        )


def _find_version(text: str) -> str | None:
    written = text.strip()
    if parse_known(written) is not None and written:
        return written
    for pattern in (_LOOSE, _NUMBER):
        for match in pattern.finditer(written[:_LINE]):
            if parse_known(match[0]) is not None:
                return match[0]
    return None


def _settle(name: str, claims: list[Claim]) -> tuple[Known, ...]:
    if name in _NAMES:
        found = canonical(parse_name(claim.text) for claim in claims)
    else:
        found = _distinct(known for claim in claims if (known := parse_known(claim.text)) is not None)
    if name in PLURAL or not 1 < len(found) <= _SETTLED:
        return found
    says_more = _names_more if name in _NAMES else _says_more
    kept = list(found)
    for known in found:  # one by one, so that of two that say the same one stays
        if any(says_more(other, known) for other in kept if other is not known):
            kept.remove(known)
    return tuple(kept)


def _distinct(values: Iterable[Known]) -> tuple[Known, ...]:
    """Return values without those that say the same in another spelling: `2.2` and `2.2.*`."""
    found: dict[object, Known] = {}
    for known in values:
        found.setdefault((known.version, known.allowed, known.build), known)
    return tuple(found.values())


def _names_more(other: Known, known: Known) -> bool:
    """Return whether a name is another with more behind it: `Ubuntu 20.04.6 LTS` and `Ubuntu 20.04`."""
    return other.text.lower().startswith(known.text.lower())


def _says_more(other: Known, known: Known) -> bool:
    """Return whether `other` agrees with `known` and is the more exact of the two."""
    if other.vendor and known.is_open:  # a vendor's snapshot has the vendor's mark where others have their build
        return True
    if known.build is not None and other.build != known.build:
        return False
    if known.is_open:
        return not other.is_open or other.build is not None
    if other.is_open:
        return False
    if known.version is not None:
        return known.version == other.version and known.build is None and other.build is not None
    return other.holds(str(known.allowed)) is Holds.ALWAYS

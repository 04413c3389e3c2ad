"""Read several inputs as one description."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..gather import Gathered
from .detect import read_lines
from .files import STDIN, read_file
from .markers import Surroundings, survey
from .reading import Reading
from .text import decode, is_binary, split_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..described import Claim

_DEEPEST: Final = 10  # files that include each other
_MOST_FILES: Final = 100


def read_inputs(inputs: Sequence[tuple[str, bytes]]) -> Gathered:
    """Read inputs of any kind as one description.

    Args:
        inputs: Names as shown to users, such as `freeze.txt` or `standard input`, and what they hold.

    Returns:
        All that was found, with its place, and all that was not understood.
    """
    session = _Session()
    for name, data in inputs:
        session.read(name, data)
    return session.finish()


@dataclass(eq=False)
class _Pile:
    """What inputs of one purpose say: found, and still to be decided."""

    gathered: Gathered = field(default_factory=Gathered)
    later: list[Callable[[Gathered, Surroundings], None]] = field(default_factory=list)


class _Session:
    """One reading of several inputs, with the files that they include."""

    def __init__(self) -> None:
        self._installed = _Pile()
        self._constraints = _Pile()
        self._included: set[str] = set()

    def read(self, name: str, data: bytes, parents: tuple[str, ...] = (), *, constrains: bool = False) -> None:
        """Read one input.

        Args:
            name: Its name.
            data: What it holds.
            parents: The files that include it.
            constrains: Whether it only limits what others install.
        """
        pile = self._constraints if constrains else self._installed
        if is_binary(data):
            pile.gathered.skip(f"{name}: {len(data)} bytes that are no text")
            return

        def follow(path: str, where: str, *, limits: bool) -> None:
            self._follow((*parents, name), path, where, constrains=constrains or limits)

        reading = Reading(name, pile.gathered, pile.later, follow)
        before = len(pile.gathered.not_understood)
        read_lines(reading, split_lines(decode(data)))
        reading.close(before)

    def finish(self) -> Gathered:
        """Do what needs the whole, and return it."""
        gathered, limits = self._installed.gathered, self._constraints.gathered
        for pile in (self._installed, self._constraints):
            surroundings = survey(gathered) if pile.later else Surroundings()
            for act in pile.later:
                act(pile.gathered, surroundings)
            surroundings.close_choices(pile.gathered)
        _constrain(gathered, limits)
        _join_builds(gathered)
        return gathered

    def _follow(self, parents: tuple[str, ...], path: str, where: str, *, constrains: bool) -> None:
        base = Path() if parents[-1] == STDIN else Path(parents[-1]).parent
        target = os.path.normpath(base / path)
        problem = self._refuse(target, parents)
        if problem is None:
            try:
                self.read(target, read_file(target), parents, constrains=constrains)
            except (OSError, ValueError) as error:
                problem = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        if problem:
            said = f"{where}: the included file {path[:200]} was not read: {problem.lower()}"
            self._installed.gathered.skip(said)

    def _refuse(self, target: str, parents: tuple[str, ...]) -> str | None:
        if target in self._included or target in {os.path.normpath(parent) for parent in parents}:
            return ""  # it is read already
        if len(parents) > _DEEPEST or len(self._included) >= _MOST_FILES:
            return "too many files include each other"
        if "://" in target or ":/" in target:
            return "it is no local file"
        self._included.add(target)
        return None


def _constrain(gathered: Gathered, limits: Gathered) -> None:
    """Let constraints fix the packages that are installed at no version of their own, and limit the others."""
    gathered.not_understood += limits.not_understood
    for name in sorted(limits.packages):
        claim = limits.claims[name][0]
        fixed = claim.text[:1].isdigit()
        if fixed and all(other.text == "*" for other in gathered.claims.get(name, ())) and name in gathered.packages:
            gathered.add_package(name, claim.text, claim.where)
            gathered.floating.discard(name)
        elif claim.text != "*":
            gathered.required.append(f"{name}=={claim.text}" if fixed else f"{name}{claim.text}")


def _join_builds(gathered: Gathered) -> None:
    """Where one place gives a package's version and another its build, note the two together."""
    for name in gathered.packages:
        claims = gathered.claims.get(name, [])
        builds = {claim.text[2:]: claim for claim in claims if claim.text.startswith("*+")}
        if len(builds) == 1 and not any("+" in claim.text and claim.text[0] != "*" for claim in claims):
            (build, source), *_ = builds.items()
            claims += _tagged(claims, build, source)


def _tagged(claims: list[Claim], build: str, source: Claim) -> list[Claim]:
    untagged = [claim for claim in claims if claim.text[:1] != "*"]
    return [type(claim)(f"{claim.text}+{build}", f"{claim.where}, {source.where}") for claim in untagged]

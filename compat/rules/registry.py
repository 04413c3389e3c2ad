"""What a rule is, what it may see, and the list of all of them.

A rule declares the components that it reads. It sees nothing else, so that its answer can be kept for every stack that
has the same ones: a sweep over many stacks asks each rule only about what changed.
"""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ..errors import Fault, InputError, did_you_mean
from ..finding import Because

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..described import Claim, Description, Library
    from ..finding import Finding
    from ..known import Known

# Names that a rule may declare besides components and packages.
PACKAGES: Final = "packages"  # all packages, extras, stated requirements and what floats
SURROUNDINGS: Final = "surroundings"  # environment variables, libraries, where packages come from, architectures

_MODULES: Final = (
    "described",
    "driver",
    "architecture",
    "cudnn",
    "libraries",
    "loader",
    "mapped",
    "frameworks",
    "requirements",
    "companions",
    "extensions",
    "platform",
    "conflicts",
)
_RULES: dict[str, Rule] = {}


@dataclass(frozen=True, slots=True)
class View:
    """What a rule sees of a description: only what it declared."""

    description: Description
    declared: frozenset[str]

    def known(self, name: str) -> tuple[Known, ...]:
        """Return what is known of a component or package; empty where it is not described.

        Raises:
            LookupError: The rule did not declare that it reads this.
        """
        if name not in self.declared and not (PACKAGES in self.declared and name in self.description.packages):
            raise LookupError(f"a rule reads {name} and did not declare it")
        return self.description.known.get(name, ())

    def one(self, name: str) -> Known | None:
        """Return what is known of a component or package of which there is one."""
        found = self.known(name)
        return found[0] if found else None

    def has(self, *names: str) -> bool:
        """Return whether any of these is described."""
        return any(self.known(name) for name in names)

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all components and packages described; that one is described says nothing of it."""
        return frozenset(self.description.known)

    @property
    def packages(self) -> frozenset[str]:
        """Return the names of all packages."""
        self._need(PACKAGES)
        return self.description.packages

    @property
    def whole(self) -> Description:
        """Return the description with what is around the components; for rules that declare `SURROUNDINGS`."""
        self._need(SURROUNDINGS)
        return self.description

    @property
    def described(self) -> Description:
        """Return the description, for rules that declare `PACKAGES`: its packages, Python and system."""
        self._need(PACKAGES)
        return self.description

    def claims(self, name: str) -> tuple[Claim, ...]:
        """Return where a component was read."""
        self.known(name)
        return self.description.claims.get(name, ())

    def reasons(self, name: str, called: str = "") -> tuple[Because, ...]:
        """Return where a component was read, as reasons of a finding that may call it otherwise."""
        return tuple(Because(f"{called or name} is {claim.text}", claim.where) for claim in self.claims(name))

    def libraries(self) -> tuple[Library, ...]:
        """Return the shared libraries of a live environment."""
        return self.whole.libraries

    def _need(self, name: str) -> None:
        if name not in self.declared:
            raise LookupError(f"a rule reads {name} and did not declare it")


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that is known of stacks.

    Attributes:
        code: Stable, such as `SP101`.
        title: What it finds, in one line.
        page: What it says, why, and how to mend it, in Markdown.
        needs: What it reads.
        present: Groups of names; of each group at least one has to be described for the rule to have a say.
        judge: Says what it finds.
        narrow: Says, of the names described, which ones matter: `needs` that are left out of it do not change what the
            rule says. None where all do.
    """

    code: str
    title: str
    page: str
    needs: tuple[str, ...]
    present: tuple[tuple[str, ...], ...]
    judge: Callable[[View], Iterable[Finding]]
    narrow: Callable[[frozenset[str]], tuple[str, ...]] | None = None


def rule(
    code: str,
    *,
    needs: Iterable[str],
    present: Iterable[Iterable[str]] = (),
    narrow: Callable[[frozenset[str]], tuple[str, ...]] | None = None,
) -> Callable[[Callable[[View], Iterator[Finding]]], Callable[[View], Iterator[Finding]]]:
    """Enter a function as a rule. Its docstring is the rule's page: the first line its title."""

    def enter(judge: Callable[[View], Iterator[Finding]]) -> Callable[[View], Iterator[Finding]]:
        title, _, page = inspect.cleandoc(judge.__doc__ or "").partition("\n")
        if code in _RULES or not re.fullmatch(r"SP\d{3}", code):
            raise ValueError(f"{code} is no new code of a rule")
        groups = tuple(tuple(group) for group in present)
        _RULES[code] = Rule(code, title.rstrip("."), page.strip(), tuple(dict.fromkeys(needs)), groups, judge, narrow)
        return judge

    return enter


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """Return all rules, by code."""
    for module in _MODULES:
        importlib.import_module(f".{module}", __package__)
    return tuple(_RULES[code] for code in sorted(_RULES))


def find_rule(code: str) -> Rule:
    """Return the rule of a code, in whatever case it is written.

    Raises:
        InputError: There is none; near ones are named.
    """
    rules = {entry.code: entry for entry in all_rules()}
    asked = code.strip().upper()
    if asked not in rules:
        raise InputError("CODE", [Fault("", f"{code!r} is no rule: {did_you_mean(asked, rules)}")])
    return rules[asked]

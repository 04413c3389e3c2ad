"""Ask every rule about a stack, and draw the verdict."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal

from .mends import sift_mends
from .rules.described import decides, say_contradictions
from .rules.registry import PACKAGES, SURROUNDINGS, Rule, View, all_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .described import Description
    from .finding import Finding
    from .known import Known

Compatibility = Literal["compatible", "incompatible", "undetermined"]

_VARIANTS: Final = 32
_TURNED: Final = 400
_KEPT: Final = 100_000
_SHAPES: Final = 256
_ORDER: Final = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the rules say of a stack.

    Attributes:
        verdict: `incompatible` where any finding is an error, `undetermined` where something that decides is missing or
            contradictory, else `compatible`.
        findings: Errors first.
    """

    verdict: Compatibility
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """Rules whose answers depend on the same components, and what they said so far.

    Attributes:
        rules: The rules.
        values: Takes from a description's known values those that the answers depend on.
        packages: Whether they depend on extras, stated requirements and what floats.
        surroundings: Whether they depend on what is around the components.
        said: What they said, by what it depended on.
    """

    rules: tuple[Rule, ...]
    values: Callable[[Mapping[str, tuple[Known, ...]]], object]
    packages: bool
    surroundings: bool
    said: dict[object, tuple[Finding, ...]]


@dataclass(eq=False)
class Checker:
    """Judges stacks. One checker keeps what rules said, for sweeps over many stacks."""

    _shapes: dict[tuple[tuple[str, ...], frozenset[str]], tuple[_Asked, ...]] = field(default_factory=dict)

    def check(self, description: Description) -> Answer:
        """Return what the rules say of a stack.

        Where reports contradict each other, each reading is judged on its own: what holds of every one is said, what
        holds of some leaves the question open. Two environments are never merged into one.
        """
        if not description.contradicts_itself:
            return _answer(self._judge(description))
        readings = [self._judge(variant) for variant in _variants(description)]
        return _answer([*_shared(readings), *say_contradictions(description)])

    def _judge(self, description: Description) -> list[Finding]:
        known = description.known
        found: list[Finding] = []
        around, more = _surroundings(description), _about_packages(description)
        for asked in self._asked(description):
            key: object = asked.values(known)
            if (asked.packages and more is not None) or (asked.surroundings and around is not None):
                key = (key, more, around)
            said = asked.said.get(key)
            if said is None:
                said = tuple(_ask(asked.rules, description))
                if len(asked.said) < _KEPT:
                    asked.said[key] = said
            if said:
                found += said
        return found

    def _asked(self, description: Description) -> tuple[_Asked, ...]:
        """Return the rules that have a say of such descriptions: those that describe the same names."""
        shape = (tuple(description.known), description.packages)
        found = self._shapes.get(shape)
        if found is None:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            found = self._shapes[shape] = tuple(_ask_of(description))
        return found


def check(description: Description) -> Answer:
    """Return what the rules say of one stack, with mends that were tried on it."""
    checker = Checker()
    answer = checker.check(description)
    if answer.verdict != "incompatible":
        return answer
    findings = sift_mends(answer.findings, description, lambda changed: checker.check(changed).findings)
    return Answer(answer.verdict, findings)


def _ask(rules: Iterable[Rule], description: Description) -> Iterator[Finding]:
    for rule in rules:
        yield from rule.judge(View(description, frozenset(rule.needs)))


def _ask_of(description: Description) -> Iterator[_Asked]:
    """Yield the rules that have a say where these names are described, those that read the same together."""
    names = frozenset(description.known)
    groups: dict[tuple[frozenset[str], bool, bool], list[Rule]] = {}
    for rule in all_rules():
        if not all(any(name in names for name in group) for group in rule.present):
            continue
        needs = rule.needs if rule.narrow is None else rule.narrow(names)
        if rule.narrow is not None and not needs:
            continue
        read = names.intersection(needs) | (description.packages if PACKAGES in needs else frozenset())
        groups.setdefault((read, PACKAGES in rule.needs, SURROUNDINGS in needs), []).append(rule)
    for (read, packages, surroundings), rules in groups.items():
        yield _Asked(tuple(rules), _taker(sorted(read)), packages, surroundings, {})


def _taker(names: list[str]) -> Callable[[Mapping[str, tuple[Known, ...]]], object]:
    return itemgetter(*names) if names else lambda _known: None


def _surroundings(about: Description) -> tuple[object, ...] | None:
    """Return all that a rule may see around the components, so that answers are kept only for the same."""
    if not (about.env_vars or about.arch_list or about.arch_range or about.origins or about.built_against):
        return (about.libraries,) if about.libraries else None
    variables = tuple(sorted(about.env_vars.items()))
    return variables, about.arch_list, about.arch_range, about.origins, about.built_against, about.libraries


def _about_packages(about: Description) -> tuple[object, ...] | None:
    if not (about.extras or about.required or about.floating):
        return None
    return tuple(sorted(about.extras.items())), about.required, about.floating


def _variants(description: Description) -> Iterator[Description]:
    """Yield the description once for each way to read what contradicts itself; of very many, for the telling ones."""
    found = description.contradictions()
    contradictions = {name: known if decides(name) else known[:1] for name, known in found.items()}
    for choice in _choices(list(contradictions.values())):
        chosen = {name: (known,) for name, known in zip(contradictions, choice, strict=True)}
        yield replace(description, known={**description.known, **chosen})


def _choices(readings: list[tuple[Known, ...]]) -> Iterable[tuple[Known, ...]]:
    """Return ways to take one of each: all where they are few, else the first, the last and each other one in turn.

    Of two pasted environments the first and the last are the two; the others show what a single reading changes.
    """
    if math.prod(map(len, readings)) <= _VARIANTS:
        return itertools.product(*readings)
    first, last = tuple(found[0] for found in readings), tuple(found[-1] for found in readings)
    turned = (
        (*first[:index], known, *first[index + 1 :]) for index, found in enumerate(readings) for known in found[1:]
    )
    return (first, last, *itertools.islice(turned, _TURNED))


def _shared(readings: list[list[Finding]]) -> Iterator[Finding]:
    """Return what every reading says, and as open questions what only some say."""
    kinds = [{_kind(finding) for finding in reading} for reading in readings]
    for finding in {_kind(finding): finding for reading in readings for finding in reading}.values():
        if all(_kind(finding) in kind for kind in kinds):
            yield finding
        elif finding.severity == "error":
            yield replace(finding, severity="warning", undetermined=True)


def _kind(finding: Finding) -> tuple[Any, ...]:
    return finding.code, finding.severity, finding.components


def _answer(findings: list[Finding]) -> Answer:
    if not findings:
        return Answer("compatible", ())
    ordered = tuple(sorted(findings, key=_place))
    if ordered[0].severity == "error":
        return Answer("incompatible", ordered)
    return Answer("undetermined" if any(finding.undetermined for finding in ordered) else "compatible", ordered)


def _place(finding: Finding) -> tuple[int, str]:
    return _ORDER[finding.severity], finding.code

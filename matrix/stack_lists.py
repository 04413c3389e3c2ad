"""The stacks that a matrix adds to its axes, and the cells that it drops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..backends.readers import Refusal, distinct, show, text
from ..compat.cell import FRAMEWORK_PACKAGES, Stack
from ..compat.errors import did_you_mean
from .axes import systems
from .bases import fits, python_of, read_name
from .components import axis_fault, extra, python, quoted, version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..backends.tables import Table
    from ..containers.bases.pins import Pins
    from .axes import Axes

_MOST_TABLES = 1000
_MOST_KEYS = 32
_MOST_EXTRAS = 16
_OWN_KEYS = frozenset({"python", "os", "extras", "framework"})


def read_includes(top: Table, axes: Axes, bases: Pins) -> tuple[Stack, ...]:
    """Read the tables `include`: one stack each.

    Args:
        top: The matrix' outermost table.
        axes: Versions of each axis; the first Python and base image are those of stacks that name none.
        bases: What is known of base images.
    """
    stacks = (_read_include(table, axes, bases) for table in top.tables("include", _MOST_TABLES))
    return tuple(stack for stack in stacks if stack is not None)


def _read_include(table: Table, axes: Axes, bases: Pins) -> Stack | None:
    pins = {key: table.one(key, "", version) for key in _read_keys(table)}
    package = _read_framework(table, [key for key in pins if key in FRAMEWORK_PACKAGES])
    extras = tuple(sorted(table.many("extras", (), distinct(extra, str), (1, _MOST_EXTRAS))))
    system, own_python = _read_system(table, axes, bases)
    if package is None or not table.sound(*table.content):
        return None
    return Stack(package, pins.pop(package), own_python, tuple(sorted(pins.items())), extras, system)


def _read_keys(table: Table) -> Iterator[str]:
    """Return the keys of a stack that are distributions."""
    _limit_keys(table)
    for key in list(table.content)[:_MOST_KEYS]:
        if key in _OWN_KEYS:
            continue
        if fault := axis_fault(key):
            table.fault(key, fault)
        else:
            yield key


def _limit_keys(table: Table) -> None:
    if len(table.content) > _MOST_KEYS:
        table.refuse(f"must have at most {_MOST_KEYS} keys, not {len(table.content)}")


def _read_framework(table: Table, frameworks: list[str]) -> str | None:
    """Return the framework that a stack's specs run on."""
    if not frameworks:
        if table.sound(*table.content):
            example = 'such as torch = "2.14.1"'
            table.refuse(f"names no framework: add one of {', '.join(sorted(FRAMEWORK_PACKAGES))}, {example}")
        return None
    for place, key in enumerate(frameworks):
        same = [other for other in frameworks[:place] if FRAMEWORK_PACKAGES[other] == FRAMEWORK_PACKAGES[key]]
        if same:
            table.fault(key, f"brings {FRAMEWORK_PACKAGES[key]}, as {same[0]} does: remove one of them")
    if len(frameworks) > 1 and "framework" not in table.content:
        either = " or ".join(f'framework = "{name}"' for name in frameworks)
        table.fault(
            frameworks[1],
            f"is the stack's framework beside {frameworks[0]}: say by {either} which one specs run on, or write"
            " another [[include]]",
        )
    return table.one("framework", frameworks[0], _one_of_these(frameworks))


def _one_of_these(frameworks: list[str]) -> Callable[[object], str]:
    def read(value: object) -> str:
        given = text(value)
        if given not in frameworks:
            raise Refusal(
                f"{show(given)} is no framework that this stack has: write {' or '.join(map(show, frameworks))}"
            )
        return given

    return read


def _read_system(table: Table, axes: Axes, bases: Pins) -> tuple[str, str]:
    """Return a stack's base image and Python; what it does not name is the first of the matrix that fits."""
    system = table.one("os", "", lambda value: read_name(value, bases))
    own = table.one("python", "", python)
    if not table.sound("os", "python"):
        return "", axes["python"][0]
    if system:
        return system, own if own and fits(system, own, bases) else _python_beside(table, system, own, bases)
    chosen = own or axes["python"][0]
    fitting = [name for name in axes.get("os", ()) if fits(name, chosen, bases)]
    if axes.get("os") and not fitting:
        table.fault(
            "python", f"no base image in axes.os has Python {own}: name one that has it by `os`, or change this"
        )
    return fitting[0] if fitting else "", chosen


def _python_beside(table: Table, system: str, asked: str, bases: Pins) -> str:
    """Return the Python that a base image brings; a fault where it is another than the one asked for, or not known."""
    brought = python_of(system, bases)
    if asked:
        table.fault(
            "python", f"{show(system)} has Python {brought}, not {asked}: write {show(brought)}, or leave it out"
        )
    elif not brought:
        table.fault("os", f"the Python of {show(system)} is not known before it is there: add python")
    return brought


def read_excludes(
    top: Table, axes: Axes, include: Sequence[Stack], specs: Sequence[str] | None, bases: Pins
) -> tuple[dict[str, str], ...]:
    """Read the tables `exclude`: one condition each.

    Args:
        top: The matrix' outermost table.
        axes: Versions of each axis.
        include: Further stacks.
        specs: Names of the specs; None where not all are known.
        bases: What is known of base images.
    """
    sound = top.sound("axes", "include", "specs")
    values, pairs = _values(axes, include, specs), systems(axes, bases)
    conditions = []
    for table in top.tables("exclude", _MOST_TABLES):
        condition = _read_exclude(table, values if sound else None)
        conditions.append(condition)
        if sound and table.sound(*table.content) and not _meets_any(condition, axes, include, pairs):
            table.refuse("matches no cell, for no stack has these versions together: mend a version, or remove it")
    return tuple(conditions)


def meets(stack: Stack, spec: str, condition: Mapping[str, str]) -> bool:
    """Say whether a stack and a spec meet all of a condition."""
    facts = {**_described(stack), "spec": spec}
    return all(facts.get(key) == value for key, value in condition.items())


def _read_exclude(table: Table, values: Mapping[str, Sequence[str] | None] | None) -> dict[str, str]:
    if not table.content:
        table.refuse("names no axis and so drops every cell: add a key, such as spec, or remove it")
    _limit_keys(table)
    condition = {}
    for key in list(table.content)[:_MOST_KEYS]:
        if values is not None and key not in values:
            table.fault(key, f"is no axis of this matrix; {did_you_mean(key, values)}")
        else:
            known = values[key] if values is not None else None
            condition[key] = table.one(key, "", _one_of(key, known))
    return condition


def _one_of(key: str, known: Sequence[str] | None) -> Callable[[object], str]:
    def read(value: object) -> str:
        given = text(value) if key == "spec" else quoted(value)
        if known is not None and given not in known:
            what = f"spec {show(given)}" if key == "spec" else f"stack with {key} {show(given)}"
            raise Refusal(f"the matrix has no {what}; {did_you_mean(given, known)}")
        return given

    return read


def _values(axes: Axes, include: Sequence[Stack], specs: Sequence[str] | None) -> dict[str, Sequence[str] | None]:
    """Return the values of each key that a condition may name; None where any is taken."""
    known: dict[str, set[str]] = {key: set(values) for key, values in axes.items()}
    for stack in include:
        for key, value in _described(stack).items():
            known.setdefault(key, set()).add(value)
    return {**{key: sorted(values) for key, values in known.items()}, "spec": specs}


def _described(stack: Stack) -> dict[str, str]:
    system = {"os": stack.os} if stack.os else {}
    return {stack.package: stack.version, "python": stack.python, **system, **dict(stack.packages)}


def _meets_any(
    condition: Mapping[str, str], axes: Axes, include: Sequence[Stack], pairs: Sequence[tuple[str, str]]
) -> bool:
    versions = {key: value for key, value in condition.items() if key != "spec"}
    one_framework = sum(key in FRAMEWORK_PACKAGES for key in versions) <= 1
    in_axes = all(value in axes.get(key, ()) for key, value in versions.items())
    asked = versions.get("os"), versions.get("python")
    paired = any(asked[0] in (None, name) and asked[1] in (None, own) for name, own in pairs)
    on_axes = one_framework and in_axes and paired and any(key in FRAMEWORK_PACKAGES for key in axes)
    return on_axes or any(meets(stack, "", versions) for stack in include)

"""The stacks that a matrix adds to its axes, and the cells that it drops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..backends.readers import Refusal, show, text
from ..compat.cell import FRAMEWORK_PACKAGES, Stack
from ..compat.errors import did_you_mean
from .components import axis_fault, python, quoted, version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..backends.tables import Table

_MOST_TABLES = 1000
_MOST_KEYS = 32


def read_includes(top: Table, default_python: str) -> tuple[Stack, ...]:
    """Read the tables `include`: one stack each.

    Args:
        top: The matrix' outermost table.
        default_python: The Python of a stack that names none.
    """
    stacks = (_read_include(table, default_python) for table in top.tables("include", _MOST_TABLES))
    return tuple(stack for stack in stacks if stack is not None)


def _read_include(table: Table, default_python: str) -> Stack | None:
    pins = {}
    for key in list(table.content)[:_MOST_KEYS]:
        fault = axis_fault(key)
        if fault:
            table.fault(key, fault)
        elif key != "python":
            pins[key] = table.one(key, "", version)
    chosen = table.one("python", default_python, python)
    frameworks = [key for key in pins if key in FRAMEWORK_PACKAGES]
    if len(frameworks) != 1:
        _fault_frameworks(table, frameworks)
        return None
    package = frameworks[0]
    stack = Stack(package, pins.pop(package), chosen, tuple(sorted(pins.items())))
    return stack if table.sound(*table.content) else None


def _fault_frameworks(table: Table, frameworks: list[str]) -> None:
    if frameworks:
        table.fault(frameworks[1], f"a stack has one framework, and {frameworks[0]} is it: write another [[include]]")
    elif table.sound(*table.content):
        example = 'such as torch = "2.14.1"'
        table.refuse(f"names no framework: add one of {', '.join(sorted(FRAMEWORK_PACKAGES))}, {example}")


def read_excludes(
    top: Table, axes: Mapping[str, tuple[str, ...]], include: Sequence[Stack], specs: Sequence[str] | None
) -> tuple[dict[str, str], ...]:
    """Read the tables `exclude`: one condition each.

    Args:
        top: The matrix' outermost table.
        axes: Versions of each axis.
        include: Further stacks.
        specs: Names of the specs; None where not all are known.
    """
    sound = top.sound("axes", "include", "specs")
    values = _values(axes, include, specs)
    conditions = []
    for table in top.tables("exclude", _MOST_TABLES):
        condition = _read_exclude(table, values if sound else None)
        conditions.append(condition)
        if sound and table.sound(*table.content) and not _meets_any(condition, axes, include):
            table.refuse("matches no cell, for no stack has these versions together: mend a version, or remove it")
    return tuple(conditions)


def meets(stack: Stack, spec: str, condition: Mapping[str, str]) -> bool:
    """Say whether a stack and a spec meet all of a condition."""
    facts = {**_described(stack), "spec": spec}
    return all(facts.get(key) == value for key, value in condition.items())


def _read_exclude(table: Table, values: Mapping[str, Sequence[str] | None] | None) -> dict[str, str]:
    if not table.content:
        table.refuse("names no axis and so drops every cell: add a key, such as spec, or remove it")
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


def _values(
    axes: Mapping[str, tuple[str, ...]], include: Sequence[Stack], specs: Sequence[str] | None
) -> dict[str, Sequence[str] | None]:
    """Return the values of each key that a condition may name; None where any is taken."""
    known: dict[str, set[str]] = {key: set(values) for key, values in axes.items()}
    for stack in include:
        for key, value in _described(stack).items():
            known.setdefault(key, set()).add(value)
    return {**{key: sorted(values) for key, values in known.items()}, "spec": specs}


def _described(stack: Stack) -> dict[str, str]:
    return {stack.package: stack.version, "python": stack.python, **dict(stack.packages)}


def _meets_any(condition: Mapping[str, str], axes: Mapping[str, tuple[str, ...]], include: Sequence[Stack]) -> bool:
    versions = {key: value for key, value in condition.items() if key != "spec"}
    one_framework = sum(key in FRAMEWORK_PACKAGES for key in versions) <= 1
    in_axes = all(value in axes.get(key, ()) for key, value in versions.items())
    on_axes = one_framework and in_axes and any(key in FRAMEWORK_PACKAGES for key in axes)
    return on_axes or any(meets(stack, "", versions) for stack in include)

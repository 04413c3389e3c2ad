"""The axes of a matrix: versions of frameworks and packages, Pythons, and base images."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from packaging.version import Version

from ..backends.readers import distinct, show
from .bases import fits, python_of, read_name
from .components import axis_fault, python, version

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..backends.tables import Table
    from ..containers.bases.pins import Pins

Axes: TypeAlias = Mapping[str, tuple[str, ...]]

MOST_AXES = 32
_MOST_VALUES = 100


def read_axes(top: Table, bases: Pins) -> dict[str, tuple[str, ...]]:
    """Read the table `axes`.

    Args:
        top: The matrix' outermost table.
        bases: What is known of base images.

    Returns:
        The versions of each axis in the file's order. `python` is always there: where it is left out, the Pythons of
        the axis `os`, and without that axis the one that stackproof runs on.
    """
    table = top.table("axes")
    axes: dict[str, tuple[str, ...]] = {}
    for key in list(table.content)[:MOST_AXES]:
        fault = axis_fault(key)
        if fault:
            table.fault(key, fault)
            continue
        axes[key] = table.many(key, (), _reader(key, bases), (1, _MOST_VALUES))
    if len(table.content) > MOST_AXES:
        top.fault("axes", f"must have at most {MOST_AXES} axes, not {len(table.content)}")
    axes["python"] = axes.get("python") or _pythons(table, axes, bases)
    if {"os", "python"} <= set(table.content) and table.sound("os", "python"):
        _check_pairs(table, axes, bases)
    return axes


def systems(axes: Axes, bases: Pins) -> list[tuple[str, str]]:
    """Return the pairs of `os` and `python` that stacks may have; an empty name where the matrix has no axis `os`."""
    pairs = product(axes.get("os", ("",)), axes["python"])
    return [(name, own) for name, own in pairs if fits(name, own, bases)]


def _reader(key: str, bases: Pins) -> Callable[[object], str]:
    if key == "os":
        return distinct(lambda value: read_name(value, bases), str)
    return distinct(python if key == "python" else version, Version)


def _pythons(table: Table, axes: Axes, bases: Pins) -> tuple[str, ...]:
    """Return the Pythons of a matrix that names none."""
    found = {name: python_of(name, bases) for name in axes.get("os", ())}
    for name, own in found.items():
        if not own:
            table.fault("os", f"the Python of {show(name)} is not known before it is there: write the axis python")
    return tuple(dict.fromkeys(own for own in found.values() if own)) or (_own_python(),)


def _check_pairs(table: Table, axes: Axes, bases: Pins) -> None:
    """Refuse base images and Pythons that no stack would have."""
    pairs = systems(axes, bases)
    named, brought = {name for name, _ in pairs}, {own for _, own in pairs}
    for index, name in enumerate(axes["os"]):
        if name not in named:
            what = f"{show(name)} has Python {python_of(name, bases)}, which is not in axes.python: add it there"
            table.faults.add((*table.path, "os", index), f"{what}, or remove the base image")
    for index, asked in enumerate(axes["python"]):
        if asked not in brought:
            what = f"no base image in axes.os has Python {asked}: add one that has it, or remove it"
            table.faults.add((*table.path, "python", index), what)


def _own_python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"

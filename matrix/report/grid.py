"""The cells laid out: one row per stack, grouped by the package that brings the framework, one column per spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .model import stack_id

if TYPE_CHECKING:
    from .model import CellEntry, Report, StackEntry


@dataclass(frozen=True)
class Row:
    """One stack; `cells` has one entry per column, None where the matrix has no such cell."""

    id: str
    version: str
    rest: str
    cells: tuple[CellEntry | None, ...]


@dataclass(frozen=True)
class Group:
    """The stacks of one framework package."""

    package: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Grid:
    """The whole matrix: spec names as columns, and the stacks in groups."""

    specs: tuple[str, ...]
    groups: tuple[Group, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return the stacks of all groups."""
        return tuple(row for group in self.groups for row in group.rows)


def lay_out(report: Report) -> Grid:
    """Return the cells of a report as a grid, in the report's order."""
    named = [spec["name"] for spec in report["specs"]]
    specs = tuple(dict.fromkeys([*named, *(cell["spec"] for cell in report["cells"])]))
    stacks: dict[str, dict[str, dict[str, CellEntry]]] = {}
    for cell in report["cells"]:
        stacks.setdefault(cell["stack"]["package"], {}).setdefault(stack_id(cell), {})[cell["spec"]] = cell
    groups = (
        Group(package, tuple(_row(name, by_spec, specs) for name, by_spec in rows.items()))
        for package, rows in stacks.items()
    )
    return Grid(specs, tuple(groups))


def describe(stack: StackEntry) -> str:
    """Return all of a stack but its framework, such as `extra cuda12, Python 3.11, numpy 2.2.6, debian:bookworm`."""
    extras = [f"extra {name}" for name in stack.get("extras", ())]
    pins = [f"{name} {pin}" for name, pin in stack["packages"].items()]
    system = [stack["os"]] if stack.get("os") else []
    return ", ".join([*extras, f"Python {stack['python']}", *pins, *system])


def _row(name: str, by_spec: dict[str, CellEntry], specs: tuple[str, ...]) -> Row:
    stack = next(iter(by_spec.values()))["stack"]
    return Row(name, stack["version"], describe(stack), tuple(by_spec.get(spec) for spec in specs))

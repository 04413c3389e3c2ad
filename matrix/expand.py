"""From a matrix to its cells."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from fnmatch import fnmatchcase
from itertools import product
from typing import TYPE_CHECKING

from packaging.version import Version

from ..compat.cell import FRAMEWORK_PACKAGES, Cell, Stack
from ..compat.errors import Fault, InputError
from .bases import fits
from .stack_lists import meets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .config import Matrix


def expand(matrix: Matrix) -> list[Cell]:
    """Return the cells of a matrix.

    The order is stable: frameworks in axis order, each version with all combinations of the other axes (the last axis
    fastest), then the included stacks; for each stack, the specs in file order.

    Raises:
        InputError: An included stack is there already, or every cell is excluded.
    """
    stacks = [*_axes_stacks(matrix), *matrix.include]
    _check_includes(matrix, stacks)
    cells = [
        Cell(stack, spec.name)
        for stack in stacks
        for spec in matrix.specs
        if not any(meets(stack, spec.name, condition) for condition in matrix.exclude)
    ]
    if not cells:
        raise InputError(matrix.source, [Fault("exclude", "drops every cell: remove a condition, or make it narrower")])
    _check_ids(matrix, cells)
    return cells


def baseline_of(matrix: Matrix, cell: Cell) -> Cell | None:
    """Return the cell that a cell's speed is compared with; see `find_baselines`."""
    return find_baselines(matrix, [cell])[cell]


def find_baselines(matrix: Matrix, cells: Sequence[Cell]) -> dict[Cell, Cell | None]:
    """Find the cells that cells' speeds are compared with.

    Args:
        matrix: The matrix that the cells come from.
        cells: Some of its cells.

    Returns:
        For each cell, the one of the same spec with the baseline version of the same package and the same other
        components: the cell itself where it is one. For an included stack that has no such partner, the first one with
        the baseline version on its own base image, else on the matrix' first Python. None where there is no such cell.
    """
    alike: dict[tuple[object, ...], Cell] = {}
    for other in expand(matrix):
        stack = other.stack
        if stack.version == matrix.baseline.get(stack.package):
            alike.setdefault((other.spec, *_place(stack)), other)
            alike.setdefault((other.spec, stack.package, "os", stack.os), other)
            alike.setdefault((other.spec, stack.package, "python", stack.python), other)
    first, included = matrix.axes["python"][0], set(matrix.include)
    found = {}
    for cell in cells:
        stack = cell.stack
        partner = alike.get((cell.spec, *_place(stack)))
        if partner is None and stack in included and stack.os:
            partner = alike.get((cell.spec, stack.package, "os", stack.os))
        if partner is None and stack in included:
            partner = alike.get((cell.spec, stack.package, "python", first))
        found[cell] = partner
    return found


def _place(stack: Stack) -> tuple[object, ...]:
    """Return all of a stack but its framework's version."""
    return stack.package, stack.python, stack.packages, stack.extras, stack.os


def select(cells: Sequence[Cell], glob: str) -> list[Cell]:
    """Return the cells whose id matches a glob, such as `torch2.15*` or `*-gpt_tiny`.

    Raises:
        InputError: None does; the message lists the ids that come close.
    """
    chosen = [cell for cell in cells if fnmatchcase(cell.id, glob)]
    if not chosen:
        ids = [cell.id for cell in cells]
        close = difflib.get_close_matches(re.sub(r"[*?]+", "", glob), ids, n=3, cutoff=0.4) or ids[:3]
        raise InputError(f"--cell {glob}", [Fault("", f"matches no cell; cells with ids like it: {', '.join(close)}")])
    return chosen


def _axes_stacks(matrix: Matrix) -> Iterator[Stack]:
    others = [(key, values) for key, values in matrix.axes.items() if key not in FRAMEWORK_PACKAGES]
    names = [key for key, _ in others]
    for package, versions in matrix.axes.items():
        if package in FRAMEWORK_PACKAGES:
            for version, *rest in product(versions, *(values for _, values in others)):
                pins = dict(zip(names, rest, strict=True))
                python, system = pins.pop("python"), pins.pop("os", "")
                if fits(system, python, matrix.bases):
                    yield Stack(package, version, python, tuple(sorted(pins.items())), os=system)


def _check_includes(matrix: Matrix, stacks: list[Stack]) -> None:
    first = len(stacks) - len(matrix.include)
    seen = {_identity(stack) for stack in stacks[:first]}
    faults = []
    for index, stack in enumerate(matrix.include):
        if _identity(stack) in seen:
            faults.append(Fault(f"include[{index}]", f"the stack {stack.id} is in the matrix already: remove it"))
        seen.add(_identity(stack))
    if faults:
        raise InputError(matrix.source, faults)


def _identity(stack: Stack) -> tuple[object, ...]:
    pins = ((name, Version(version)) for name, version in stack.packages)
    return stack.package, Version(stack.version), stack.python, stack.extras, stack.os, *pins


def _check_ids(matrix: Matrix, cells: list[Cell]) -> None:
    """Refuse names that together read like those of another cell, such as a spec named `numpy2.2.6-gpt`."""
    same = [name for name, count in Counter(cell.id for cell in cells).items() if count > 1]
    if same:
        systems = {cell.stack.os for cell in cells if cell.id == same[0]}
        where, mend = ("axes.os", "a base image") if len(systems) > 1 else ("specs", "a spec")
        what = f"two cells have the id {same[0]}: give {mend} another `name`"
        raise InputError(matrix.source, [Fault(where, what)])

"""The matrix: axes of component versions x specs, with baseline, includes, excludes and settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from ..backends.readers import Refusal, show
from ..backends.tables import Faults, Table, read_name
from ..compat.cell import FRAMEWORK_PACKAGES, Stack
from ..compat.errors import InputError, did_you_mean
from ..containers.bases.pins import load_pins
from ..containers.rendering.settings import ImageSettings
from .axes import MOST_AXES, read_axes, systems
from .bases import read_bases
from .components import version
from .image_settings import read_image
from .settings import RunSettings, ThroughputSettings, read_run, read_throughput
from .spec_list import read_specs
from .stack_lists import read_excludes, read_includes
from .toml_file import read_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ..backends.spec import Spec
    from ..containers.bases.pins import Pins

__all__ = ["ImageSettings", "Matrix", "RunSettings", "ThroughputSettings", "load_matrix", "read_matrix"]

MOST_CELLS = 10_000


@dataclass(frozen=True)
class Matrix:
    """What is to be certified.

    Attributes:
        name: The matrix' name.
        source: The matrix file, as the user gave it.
        specs: The specs, in the file's order.
        axes: Versions of each axis, both in the file's order; `python` is always there.
        baseline: Baseline version of each framework axis.
        include: Further stacks.
        exclude: Conditions, each axis or `spec` to a value; cells that meet all of one condition are dropped.
        run: How runs are made.
        throughput: How speed is compared.
        image: How images are made, where an engine makes them.
        bases: What is known of base images, by name.
    """

    name: str
    source: str
    specs: tuple[Spec, ...]
    axes: Mapping[str, tuple[str, ...]]
    baseline: Mapping[str, str] = field(default_factory=dict)
    include: tuple[Stack, ...] = ()
    exclude: tuple[Mapping[str, str], ...] = ()
    run: RunSettings = field(default_factory=RunSettings)
    throughput: ThroughputSettings = field(default_factory=ThroughputSettings)
    image: ImageSettings = field(default_factory=ImageSettings)
    bases: Pins = field(default_factory=load_pins)


def load_matrix(path: Path, bases: Path | None = None) -> Matrix:
    """Read a matrix from its TOML file, and the files of specs and base images that it names.

    Args:
        path: The file.
        bases: A file of base images that takes the place of the matrix' own.

    Raises:
        InputError: With every fault of the file of base images; where it has none, with every fault of the matrix, and
            after them those of the spec files, each under its file's name.
    """
    return read_matrix(read_toml(path), path, bases)


def read_matrix(tables: Mapping[str, object], path: Path, bases: Path | None = None) -> Matrix:
    """Make a matrix of the tables of its TOML file.

    Args:
        tables: The file's content.
        path: Where the file lies: gives the matrix its default name and the other files their folder.
        bases: As `load_matrix`.

    Raises:
        InputError: As `load_matrix`.
    """
    faults = Faults()
    top = Table.root(tables, faults)
    name = read_name(top, path.stem)
    specs, spec_faults = read_specs(top, path.parent)
    known = read_bases(top, path.parent, bases)
    axes = read_axes(top, known)
    include = read_includes(top, axes, known)
    matrix = Matrix(
        name=name,
        source=str(path),
        specs=specs,
        axes=axes,
        baseline=_read_baseline(top, axes),
        include=include,
        exclude=read_excludes(top, axes, include, None if spec_faults else [spec.name for spec in specs], known),
        run=read_run(top),
        throughput=read_throughput(top),
        image=read_image(top),
        bases=known,
    )
    top.finish()
    _check_extent(matrix, top)
    found = [*faults.listed(tables), *spec_faults]
    if found:
        raise InputError(str(path), found)
    return matrix


def _read_baseline(top: Table, axes: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    table = top.table("baseline")
    frameworks = {key: values for key, values in axes.items() if key in FRAMEWORK_PACKAGES and values}
    baseline = {}
    for key, values in frameworks.items():
        baseline[key] = table.one(key, values[0], _one_of(key, values))
    for key in list(table.content)[:MOST_AXES]:
        if key not in frameworks and (key not in FRAMEWORK_PACKAGES or top.sound("axes")):
            table.fault(key, f"is no framework axis of this matrix; {did_you_mean(key, frameworks)}")
    return baseline


def _one_of(key: str, values: tuple[str, ...]) -> Callable[[object], str]:
    def read(value: object) -> str:
        given = version(value)
        if given not in values:
            raise Refusal(f"{show(given)} is not in axes.{key}: write one of its values, {', '.join(values[:10])}")
        return given

    return read


def _check_extent(matrix: Matrix, top: Table) -> None:
    frameworks = [values for key, values in matrix.axes.items() if key in FRAMEWORK_PACKAGES]
    others = [values for key, values in matrix.axes.items() if key not in {*FRAMEWORK_PACKAGES, "os", "python"}]
    if not frameworks and not matrix.include and top.sound("axes", "include"):
        known = ", ".join(sorted(FRAMEWORK_PACKAGES))
        top.fault("axes", f'names no framework: add one of {known}, such as torch = ["2.13.0"]')
    pairs = len(systems(matrix.axes, matrix.bases))
    stacks = sum(map(len, frameworks)) * pairs * prod(map(len, others)) + len(matrix.include)
    cells = stacks * max(1, len(matrix.specs))
    if cells > MOST_CELLS:
        top.fault("axes", f"make {cells} cells, more than {MOST_CELLS}: split the matrix, or shorten an axis")

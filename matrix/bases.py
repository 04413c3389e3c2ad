"""The base images that stacks stand on: read by name, or chosen by Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..backends.readers import Refusal, show, text
from ..compat.errors import Fault, InputError
from ..containers.bases.pins import Pins, load_pins, own_pins

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..backends.tables import Table
    from ..compat.cell import Cell, Stack
    from .config import Matrix

FILE: Final = "bases.toml"
_VENV: Final = "venv"


def read_bases(top: Table, folder: Path, instead: Path | None) -> Pins:
    """Read what is known of base images: those of the matrix' own file, and after them those that stackproof brings.

    Args:
        top: The matrix' outermost table, whose key `bases` names the file. Where it is left out, `bases.toml` beside
            the matrix is read, if there is one.
        folder: The matrix' folder.
        instead: A file that takes the place of the matrix' own.

    Returns:
        The base images by name.

    Raises:
        InputError: With every fault of that file. What a matrix' base images are called is not known then.
    """
    named = top.one("bases", "", _file)
    beside = folder / FILE
    path = instead or (folder / named if named else beside if beside.is_file() else None)
    own = own_pins(path) if path is not None else {}
    return Pins({**own, **{name: pin for name, pin in load_pins().items() if name not in own}})


def _file(value: object) -> str:
    given = text(value)
    if not given or not given.isprintable():
        raise Refusal(f"{show(given)} is no path of a file: write one relative to the matrix, such as {show(FILE)}")
    return given


def read_name(value: object, bases: Pins) -> str:
    """Read the name of a base image, or a repository with a digest."""
    given = text(value)
    try:
        bases.find(given)
    except InputError as error:
        raise Refusal(error.faults[0].what) from None
    return given


def python_of(name: str, bases: Pins) -> str:
    """Return the Python of a base image as major.minor; empty where it is not known before the image is there."""
    return bases.find(name).python


def fits(name: str, python: str, bases: Pins) -> bool:
    """Say whether a stack may have this base image, or with an empty name any, and this Python together."""
    return not name or python_of(name, bases) in ("", python)


def base_name_of(stack: Stack, bases: Pins) -> str:
    """Return the name of the base image that a stack's image is built on.

    Args:
        stack: The stack.
        bases: What is known of base images, as `Matrix.bases`.

    Returns:
        The stack's own; where it names none, the first one with its Python. Empty where there is none.
    """
    return stack.os or next((pin.name for pin in bases.values() if pin.python == stack.python), "")


def check_engine(matrix: Matrix, cells: Sequence[Cell], engine: str) -> None:
    """Check that cells can be taken where they are to be taken: in venvs of this machine, or in images.

    Args:
        matrix: The matrix.
        cells: Those of its cells that are to be certified.
        engine: `venv`, `docker` or `podman`.

    Raises:
        InputError: Without an engine, a stack names a base image; with one, no base image has a stack's Python.
    """
    stacks = dict.fromkeys(cell.stack for cell in cells)
    if engine == _VENV:
        faults = [_needs_engine(matrix, stack) for stack in stacks if stack.os]
    else:
        faults = [_needs_base(matrix, stack) for stack in stacks if not base_name_of(stack, matrix.bases)]
    if faults:
        raise InputError(matrix.source, list(dict.fromkeys(faults)))


def _needs_engine(matrix: Matrix, stack: Stack) -> Fault:
    what = "a venv has the system of this machine: add --engine docker (or podman), or remove it from the matrix"
    return Fault(_place(matrix, stack, "os"), f"names a base image, and {what}")


def _needs_base(matrix: Matrix, stack: Stack) -> Fault:
    known = ", ".join(sorted({pin.python for pin in matrix.bases.values()}, key=lambda text: int(text.split(".")[1])))
    what = f"no base image has Python {stack.python} (there are some with {known})"
    mend = f"choose one of these, or describe a base image with it in {FILE}; --engine venv needs none"
    return Fault(_place(matrix, stack, "python"), f"{what}: {mend}")


def _place(matrix: Matrix, stack: Stack, key: str) -> str:
    return f"include[{matrix.include.index(stack)}].{key}" if stack in matrix.include else f"axes.{key}"

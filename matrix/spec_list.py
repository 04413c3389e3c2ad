"""The spec files that a matrix names."""

from __future__ import annotations

import os.path
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..backends.readers import Refusal, distinct, show, text
from ..compat.errors import Fault, InputError, did_you_mean
from .spec_file import load_spec

if TYPE_CHECKING:
    from ..backends.spec import Spec
    from ..backends.tables import Table

_MOST_SPECS = 100


def read_specs(top: Table, folder: Path) -> tuple[tuple[Spec, ...], list[Fault]]:
    """Read the spec files that the key `specs` lists.

    Args:
        top: The matrix' outermost table; faults of the list itself go there.
        folder: What the paths are relative to.

    Returns:
        The sound specs in order, and the faults of the other files, each with the file as its source.
    """
    if "specs" not in top.content:
        top.fault("specs", 'missing: list the spec files, such as specs = ["gpt_tiny.toml"]')
    specs: list[Spec] = []
    faults: list[Fault] = []
    new_path = distinct(text, _normal)

    def read(value: object) -> str:
        entry = new_path(value)
        _check_there(folder, entry)
        try:
            specs.append(_other_name(load_spec(folder / entry), specs))
        except InputError as error:
            faults.extend(replace(fault, source=fault.source or error.source) for fault in error.faults)
        return entry

    top.many("specs", (), read, (1, _MOST_SPECS))
    return tuple(specs), faults


def _normal(entry: str) -> str:
    return os.path.normpath(entry)


def _other_name(spec: Spec, specs: list[Spec]) -> Spec:
    if any(spec.name == other.name for other in specs):
        raise Refusal(f"a spec before it has the name {show(spec.name)} too: give one of the files another `name`")
    return spec


def _check_there(folder: Path, entry: str) -> None:
    if not entry.isprintable():
        raise Refusal(f"{show(entry)} holds characters that cannot be printed: rename the file")
    try:
        (folder / entry).stat()
    except (FileNotFoundError, NotADirectoryError):
        names = [path.name for path in folder.glob("*.toml")] if folder.is_dir() else []
        near = f"; {did_you_mean(Path(entry).name, names)}" if names else ": paths are relative to the matrix file"
        raise Refusal(f"no such file {show(str(folder / entry))}{near}") from None
    except (OSError, ValueError):
        return

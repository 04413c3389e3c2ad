"""What an output folder was last used for, so that an interrupted run can be gone on with."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..compat.errors import Fault, InputError
from .store import canonical, digest_of, outside, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from .config import Matrix

_NAME = "certify.json"


def begin(folder: Path, matrix: Matrix, *, resume: bool) -> None:
    """Note that a matrix is being certified in a folder.

    Args:
        folder: The output folder.
        matrix: The matrix.
        resume: Whether to go on with a run that was interrupted.

    Raises:
        InputError: `resume`, and nothing was begun in the folder, or something else than this matrix.
        OutsideError: The folder cannot be used.
    """
    asked = _describe(matrix)
    if resume:
        _check(folder, matrix, asked)
    _write(folder, {**asked, "state": "begun"})


def complete(folder: Path) -> None:
    """Note that the run begun in a folder came to its end."""
    _write(folder, {**_read(folder), "state": "complete"})


def _check(folder: Path, matrix: Matrix, asked: dict[str, Any]) -> None:
    begun = _read(folder)
    if not begun:
        raise InputError(str(folder), [Fault("--resume", "nothing was begun there; leave --resume out to begin")])
    if begun.get("digest") != asked["digest"]:
        raise InputError(
            str(folder),
            [
                Fault(
                    "--resume",
                    f"the run begun there is of matrix {begun.get('matrix')!r} as it was then, and {matrix.source} is "
                    "another now; leave --resume out to certify it as it is (what did not change is reused)",
                )
            ],
        )


def _describe(matrix: Matrix) -> dict[str, Any]:
    tables = {
        "specs": [[spec.name, spec.digest] for spec in matrix.specs],
        "axes": {name: list(values) for name, values in matrix.axes.items()},
        "baseline": dict(matrix.baseline),
        "include": [asdict(stack) for stack in matrix.include],
        "exclude": [dict(condition) for condition in matrix.exclude],
        "run": asdict(matrix.run),
        "throughput": asdict(matrix.throughput),
    }
    return {"schema_version": 1, "matrix": matrix.name, "digest": digest_of(tables)}


def _read(folder: Path) -> dict[str, Any]:
    path = folder / _NAME
    if not path.exists():
        return {}
    with outside(folder):
        try:
            found = json.loads(path.read_bytes())
        except ValueError:
            return {}
    return found if isinstance(found, dict) else {}


def _write(folder: Path, tables: dict[str, Any]) -> None:
    with outside(folder):
        replace_file(folder / _NAME, canonical(tables))

"""What an output folder was last used for, so that an interrupted run can be gone on with."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ..compat.errors import Fault, InputError
from .store import canonical, digest_of, outside, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from .config import Matrix

_NAME = "certify.json"


# What a process writes before it puts it in place; see `store.replace_file`, `report.write` and `backends.archive`.
_DRAFTS: Final = (".*.partial", "*/.*.partial", ".report.*.[0-9]*", ".junit.xml.[0-9]*", "work/*.new")


def begin(folder: Path, matrix: Matrix) -> None:
    """Note that a matrix is being certified in a folder that this process holds, and sweep what a killed one left.

    Raises:
        OutsideError: The folder cannot be used.
    """
    with outside(folder):
        for draft in [path for pattern in _DRAFTS for path in folder.glob(pattern)]:
            draft.unlink(missing_ok=True)
    _write(folder, {**_describe(matrix), "state": "begun"})


def complete(folder: Path) -> None:
    """Note that the run begun in a folder came to its end."""
    _write(folder, {**_read(folder), "state": "complete"})


def check_begun(folder: Path, matrix: Matrix) -> None:
    """Check that there is a run of a matrix to go on with; nothing is written.

    Raises:
        InputError: Nothing was begun in the folder, or something else than this matrix.
        OutsideError: The folder cannot be read.
    """
    begun, asked = _read(folder), _describe(matrix)
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
        "include": [_without_empty(asdict(stack)) for stack in matrix.include],
        "exclude": [dict(condition) for condition in matrix.exclude],
        "run": asdict(matrix.run),
        "throughput": asdict(matrix.throughput),
        # Only where it says something, so that what an older release began can be gone on with.
        **({"image": asdict(matrix.image)} if matrix.image != type(matrix.image)() else {}),
    }
    return {"schema_version": 1, "matrix": matrix.name, "digest": digest_of(tables)}


def _without_empty(stack: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in stack.items() if value or name not in {"extras", "os"}}


def _read(folder: Path) -> dict[str, Any]:
    with outside(folder):
        try:
            found = json.loads((folder / _NAME).read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
    return found if isinstance(found, dict) else {}


def _write(folder: Path, tables: dict[str, Any]) -> None:
    with outside(folder):
        replace_file(folder / _NAME, canonical(tables))

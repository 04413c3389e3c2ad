"""What certify would do, found out without doing it: cells, baselines, what is reused, and what the rest may cost."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compat.cell import FRAMEWORK_PACKAGES
from ..compat.errors import UnsolvableError
from .bases import check_engine
from .expand import expand, find_baselines, select
from .locking import find_lock
from .pruning import find_impossible
from .running import find_run
from .site import Settings, open_site
from .store import DATABASE, Store
from .workload_files import check_engine_of_commands

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..compat.cell import Cell
    from ..compat.finding import Finding
    from .config import Matrix
    from .site import Site

SCHEMA_VERSION = 1
_STAGES = ("lock", "run", "measure")


def plan(matrix: Matrix, folder: Path, pattern: str = "", engine: str = "venv") -> dict[str, Any]:
    """Say what certify would do with a matrix in a folder; nothing is resolved, built or run.

    Args:
        matrix: The matrix.
        folder: The output folder; it need not exist.
        pattern: Pattern of cell ids; empty for all.
        engine: What cells are to be run in: `venv`, or the engine of their images, `docker` or `podman`. Which locks
            are there only base images can tell: with an engine, those that it lacks are made.

    Returns:
        JSON-ready tables. Each cell says whether its lock and its run are reused, or why they are impossible or pruned
        by a rule, and what it may cost in seconds, from the times of the same framework's stages in the folder's store;
        None where the store has none.

    Raises:
        InputError: No cell matches, or the cells cannot be taken to that engine; see `check_engine`.
        OutsideError: The store cannot be read, or the engine failed.
    """
    cells = select(expand(matrix), pattern) if pattern else expand(matrix)
    check_engine(matrix, cells, engine)
    check_engine_of_commands(matrix, cells, engine)
    with contextlib.ExitStack() as stack:
        home = folder if (folder / DATABASE).exists() else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = open_site(home, stack.enter_context(Store(home)), matrix, Settings(engine=engine))
        times, baselines = _times(home), find_baselines(matrix, cells)
        impossible = find_impossible(
            [cell.stack for cell in cells],
            site.run,
            site.machine,
            None if engine == "venv" else matrix.bases,
            forward_compat=matrix.image.forward_compat,
        )
        entries = [
            {**_name(cell, baselines[cell]), **_state(site, cell, times, impossible.get(cell.stack, ()))}
            for cell in cells
        ]
    known = [entry["estimated_seconds"] for entry in entries if entry["estimated_seconds"] is not None]
    return {
        "schema_version": SCHEMA_VERSION,
        "matrix": matrix.name,
        "folder": str(folder),
        "cells": entries,
        "excluded": [dict(condition) for condition in matrix.exclude],
        "totals": {
            "cells": len(entries),
            "pruned": sum(entry["pruned"] is not None for entry in entries),
            "runs_reused": sum(entry["run"] == "reused" for entry in entries),
            "estimated_seconds": round(sum(known), 1) if len(known) == len(entries) else None,
        },
    }


@dataclass(frozen=True)
class _Times:
    """Mean seconds by (stage, framework)."""

    known: Mapping[tuple[str, str], float]

    def cost(self, framework: str, stages: list[str]) -> float | None:
        taken = [self.known.get((stage, framework)) for stage in stages]
        return None if None in taken else sum(seconds for seconds in taken if seconds is not None)


def _name(cell: Cell, baseline: Cell | None) -> dict[str, Any]:
    return {
        "id": cell.id,
        "spec": cell.spec,
        "baseline": baseline.id if baseline else None,
        "requirements": list(cell.stack.requirements),
    }


def _state(site: Site, cell: Cell, times: _Times, findings: Sequence[Finding]) -> dict[str, Any]:
    if findings:
        first = findings[0]
        pruned = {"code": first.code, "message": first.message, "fix": list(first.fix)}
        return {**_never("pruned", f"{first.code}: {first.message}"), "pruned": pruned}
    try:
        lock = find_lock(site, cell.stack)
    except UnsolvableError as error:
        return _never("impossible", str(error).splitlines()[0])
    found = find_run(site, cell, lock) if lock else None
    stages = [*([] if lock else ["lock"]), *([] if found else ["run", "measure"])]
    return {
        "lock": "reused" if lock else "to be resolved",
        "build": lock.build if lock else None,
        "run": "reused" if found else "to be made",
        "pruned": None,
        "why": "",
        "estimated_seconds": _rounded(times.cost(cell.stack.framework, stages)),
    }


def _never(word: str, why: str) -> dict[str, Any]:
    return {"lock": word, "build": None, "run": word, "pruned": None, "why": why, "estimated_seconds": 0.0}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _times(folder: Path) -> _Times:
    """Read from a store what each framework's stages took, on average."""
    taken: dict[tuple[str, str], list[float]] = {}
    address = f"{(folder.absolute() / DATABASE).as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
        for stage, subject, seconds in connection.execute("SELECT stage, subject, seconds FROM results"):
            if stage in _STAGES and (framework := _framework(subject)):
                taken.setdefault((stage, framework), []).append(seconds)
    return _Times({key: sum(values) / len(values) for key, values in taken.items()})


def _framework(subject: str) -> str:
    longest = sorted(FRAMEWORK_PACKAGES, key=len, reverse=True)
    return next((FRAMEWORK_PACKAGES[name] for name in longest if subject.startswith(name)), "")

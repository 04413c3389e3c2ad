"""Matrices and specs small enough to be taken all the way in a test, and reports made comparable."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from stackproof import backends

JAX = ("0.9.2", "0.10.2")
THREE = {"torch": ["2.13.0"], "tensorflow-cpu": ["2.21.0"], "jax": ["0.10.2"]}
MLP = """
    [model]
    kind = "mlp"
    inputs = 8
    hidden = [8]
    outputs = 3
    [data]
    batch = 4
    [optimizer]
    kind = "adamw"
    lr = 0.01
    [train]
    steps = 6
"""
# Speed decides nothing here: any ratio will do.
_THROUGHPUT = "[throughput]\nrounds = 3\nseconds = 0.05\nminimum_ratio = 0.001\n"
# Differ between two runs of the same thing.
_OF_ONE_RUN = {
    *("created", "made", "seconds", "evidence", "reused", "runs_made", "runs_reused", "peak_memory_bytes"),
    *("ratio", "low", "high", "rounds", "steps_per_second"),
}


def write_matrix(folder: Path, axes: dict[str, list[str]], spec: str = MLP, more: str = "", name: str = "tiny") -> Path:
    """Write a matrix of one spec, `mlp`, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mlp.toml").write_text(spec)
    listed = "".join(f"{axis} = {json.dumps(versions)}\n" for axis, versions in axes.items())
    path = folder / f"{name}.toml"
    path.write_text(f'specs = ["mlp.toml"]\n[axes]\n{listed}{more}\n{_THROUGHPUT}')
    return path


def eager(spec: str = MLP) -> str:
    """Return a spec that is not compiled, which is quickest where a compiler takes half a minute."""
    return spec.replace("[train]", "[train]\n    compile = false")


def patch_backends(folder: Path, file: str, old: str, new: str) -> Path:
    """Copy what runs inside environments, change one place of it, and return the copy."""
    copy = folder / "backends"
    shutil.copytree(Path(str(backends.__file__)).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = (copy / file).read_text()
    assert text.count(old) == 1, f"{file} no longer holds {old!r} once: mend this test's patch"
    (copy / file).write_text(text.replace(old, new))
    return copy


def read_report(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_bytes())
    return report


def comparable(value: Any) -> Any:
    """Return a report without what differs between two runs of the same thing: times, speeds, digests of evidence."""
    if isinstance(value, dict):
        kept = {name: comparable(entry) for name, entry in value.items() if name not in _OF_ONE_RUN}
        if kept.get("name") == "throughput":
            kept = {name: entry for name, entry in kept.items() if name not in {"measured", "why"}}
        return kept
    return [comparable(entry) for entry in value] if isinstance(value, list) else value


def forget(folder: Path, stage: str) -> None:
    """Remove a stage's rows from a store."""
    with closing(sqlite3.connect(folder / "store.sqlite")) as connection, connection:
        connection.execute("DELETE FROM results WHERE stage = ?", (stage,))


def stored(folder: Path) -> list[tuple[int, str, str, str]]:
    """Return the rows of a store: number, stage, key, subject."""
    with closing(sqlite3.connect(folder / "store.sqlite")) as connection:
        return list(connection.execute("SELECT id, stage, key, subject FROM results ORDER BY id"))

"""What every benchmark prints: a table, or with `--json` one document; the exit code says whether the figures hold."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from stackproof.matrix.machine import read_machine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA_VERSION = 1


def holds(figures: Mapping[str, float], required: Mapping[str, Mapping[str, float]]) -> bool:
    """Say whether every required figure is reached."""
    return all(
        (limit >= figures[name] if word == "at_most" else limit <= figures[name])
        for name, limits in required.items()
        for word, limit in limits.items()
    )


def finish(
    name: str,
    figures: Mapping[str, float],
    required: Mapping[str, Mapping[str, float]],
    *,
    as_json: bool,
    rows: Sequence[Sequence[str]] = (),
) -> int:
    """Print a benchmark's result and return its exit code.

    Args:
        name: The benchmark's name.
        figures: Numbers by name.
        required: `at_least` or `at_most` by figure.
        as_json: Whether to print the document instead of the table.
        rows: Lines of the table that people read, its heading first.
    """
    good = holds(figures, required)
    if as_json:
        print(json.dumps(_document(name, figures, required, good=good), indent=1))
        return 0 if good else 1
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for figure, value in figures.items():
        limits = ", ".join(f"{word.replace('_', ' ')} {limit:g}" for word, limit in required.get(figure, {}).items())
        print(f"{figure}: {value:.4g}" + (f" (required: {limits})" if limits else ""))
    print("holds" if good else "does not hold")
    return 0 if good else 1


def _document(name: str, figures: Mapping[str, float], required: Mapping[str, Any], *, good: bool) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "figures": dict(figures),
        "required": dict(required),
        "holds": good,
        "machine": asdict(read_machine()),
        "versions": {"stackproof": version("stackproof"), "numpy": version("numpy")},
    }

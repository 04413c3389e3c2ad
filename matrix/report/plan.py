"""A plan, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping


def show_plan(found: Mapping[str, Any], stream: TextIO) -> None:
    """Write a plan to a stream: one line per cell and the totals.

    Args:
        found: The tables of `plan --json`.
        stream: Where to write.
    """
    width = max(len(cell["id"]) for cell in found["cells"])
    stream.write(f"  {'cell':<{width}}  {'lock':<16}{'run':<12}{'about':>8}  baseline\n")
    stream.writelines(f"  {cell['id']:<{width}}  {_states(cell)}  {_baseline(cell)}\n" for cell in found["cells"])
    for cell in found["cells"]:
        stream.writelines(f"  {line}\n" for line in _reasons(cell))
    totals = found["totals"]
    pruned = f"{totals['pruned']} of them pruned, " if totals["pruned"] else ""
    reused = f"{totals['runs_reused']} {'' if pruned else 'of them '}run already in {found['folder']}"
    stream.write(f"{totals['cells']} cells, {pruned}{reused}; ")
    if totals["estimated_seconds"] is None:
        stream.write("what the rest takes is known once a cell of each framework was certified there\n")
    else:
        stream.write(f"the rest takes {_seconds(totals['estimated_seconds'])} of work\n")


def _reasons(cell: Mapping[str, Any]) -> list[str]:
    """Return why a cell is not tried, and where a rule prunes it, how that is mended."""
    if not cell["pruned"]:
        return [f"{cell['id']}: {cell['why']}"] if cell["why"] else []
    code, fixes = cell["pruned"]["code"], "; or ".join(cell["pruned"]["fix"])
    mend = [f"  mend: {fixes}"] if fixes else []
    return [f"{cell['id']}: {cell['why']}", *mend, f"  stackproof explain {code} says more"]


def _states(cell: Mapping[str, Any]) -> str:
    return f"{cell['lock']:<16}{cell['run']:<12}{_seconds(cell['estimated_seconds']):>8}"


def _baseline(cell: Mapping[str, Any]) -> str:
    return "itself" if cell["baseline"] == cell["id"] else cell["baseline"] or "none"


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0f} s"

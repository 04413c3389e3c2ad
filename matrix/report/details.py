"""What the page shows of a cell when it is opened: ready wording, and curves thinned to what a screen can show."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from ...backends.workload_runs import MODE
from .grid import describe
from .model import stage_seconds
from .wording import clean, number, one_line, ratio, seconds, size, speed_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import CellEntry, Report

    Numbers = Sequence[float | None]

MOST_POINTS: Final = 400


def details(report: Report) -> dict[str, Any]:
    """Return everything the page's script needs, as JSON-ready tables: cells in the report's order."""
    return {"cells": [_cell(cell) for cell in report["cells"]]}


def _cell(cell: CellEntry) -> dict[str, Any]:
    return {
        "id": clean(cell["id"]),
        "spec": cell["spec"],
        "verdict": cell["verdict"],
        "level": cell["level"],
        "title": f"{cell['stack']['package']} {cell['stack']['version']}, {describe(cell['stack'])}",
        "reasons": [one_line(reason) for reason in cell["reasons"]],
        "facts": _facts(cell),
        "checks": [
            {**check, "measured": number(check["measured"]), "allowed": number(check["allowed"])}
            for check in cell["checks"]
        ],
        "throughput": _throughput(cell),
        "curves": _curves(cell),
        "stages": [
            {"name": name, "seconds": spent, "label": seconds(spent), "reused": bool(cell["reused"].get(name))}
            for name, spent in stage_seconds(cell)
        ],
        "framework": cell["stack"]["package"],
        "build": " · ".join(part for part in (cell["build"], cell["build_source"]) if part),
        "packages": sorted(cell["packages"].items()),
        "image": _image(cell),
        "digests": _digests(cell),
        "log": clean("\n".join(cell["log"])).split("\n") if cell["log"] else [],
    }


def _facts(cell: CellEntry) -> list[list[str]]:
    mode = cell["mode"] or ""
    speed = cell["throughput"]
    found = [
        ["Level", cell["level"], ""],
        ["Throughput", speed_note(cell), f"{speed['steps_per_second']:.4g} steps/s" if speed else ""],
        ["Device", cell["device"] or "", cell["device_name"] or ""],
        ["Compiled by", mode, cell["mode_why"] or ""],
        ["Build", cell["build"] or "", cell["build_source"] or ""],
        ["Peak memory", size(cell["peak_memory_bytes"]) if cell["peak_memory_bytes"] else "", ""],
        ["Time", seconds(sum(cell["seconds"].values())) if cell["seconds"] else "", ""],
    ]
    return [fact for fact in found if fact[1]]


def _image(cell: CellEntry) -> dict[str, Any] | None:
    image = cell.get("image")
    if image is None:
        return None
    whole = image["size"] or 1
    return {
        "name": one_line(image["reference"]),
        "note": f"{size(image['size'])}, made and run by {one_line(image['engine'])}",
        "base": one_line(image["base"]),
        "id": one_line(image["id"]),
        "layers": [
            {"name": one_line(name), "share": count / whole, "label": size(count)} for name, count in image["layers"]
        ],
    }


def _throughput(cell: CellEntry) -> dict[str, Any] | None:
    speed = cell["throughput"]
    if speed is None:
        return None
    floor = next((check["allowed"] for check in cell["checks"] if check["name"] == "throughput"), None)
    sentence = (
        f"{ratio(speed['ratio'])} the speed of {clean(speed['baseline'])}; "
        f"{speed['confidence']:.0%} interval {speed['low']:.3f} to {speed['high']:.3f} "
        f"from {len(speed['rounds'])} alternating rounds."
    )
    return {**speed, "floor": floor if isinstance(floor, int | float) else None, "sentence": sentence}


def _digests(cell: CellEntry) -> list[list[str]]:
    named = [("Lock", cell["lock_digest"]), ("Image", cell["image_digest"])]
    evidence = [("Evidence", digest) for digest in cell["evidence"]]
    return [[label, digest] for label, digest in [*named, *evidence] if digest]


def _curves(cell: CellEntry) -> list[dict[str, Any]]:
    curves = cell["curves"]
    if curves is None:
        return []
    loss = _curve("Loss", curves["loss"], curves["reference_loss"], curves["loss_allowed"])
    norm = _curve("Gradient norm", curves["grad_norm"], curves["reference_grad_norm"], curves["grad_norm_allowed"])
    against = "expected" if cell["mode"] == MODE else "float64 reference"
    return [{**curve, "against": against} for curve in (loss, norm) if curve["count"]]


def _curve(title: str, values: Numbers, reference: Numbers, allowed: Numbers) -> dict[str, Any]:
    count = min(len(values), len(reference), len(allowed))
    apart = [_apart(values[step], reference[step]) for step in range(count)]
    outside = [step for step in range(count) if _is_outside(apart[step], allowed[step])]
    kept = thin(apart, allowed, outside[:1])
    return {
        "title": title,
        "count": count,
        "steps": [step + 1 for step in kept],
        "values": [_digits(values[step], 7) for step in kept],
        "reference": [_digits(reference[step], 7) for step in kept],
        "difference": [_digits(apart[step], 4) for step in kept],
        "allowed": [_digits(allowed[step], 4) for step in kept],
        "first_outside": outside[0] + 1 if outside else None,
    }


def thin(apart: Numbers, allowed: Numbers, keep: Sequence[int]) -> list[int]:
    """Return which steps to draw: all where they are few, else of each stretch the one nearest to its limit.

    The first step, the last and those in `keep` always stay, so thinning never hides the step that decides.
    """
    count = len(apart)
    if count <= MOST_POINTS:
        return list(range(count))
    edges = [count * part // MOST_POINTS for part in range(MOST_POINTS + 1)]
    worst = (
        max(range(start, end), key=lambda step: _strain(apart[step], allowed[step])) for start, end in pairwise(edges)
    )
    return sorted({0, count - 1, *keep, *worst})


def _apart(value: float | None, reference: float | None) -> float | None:
    return None if value is None or reference is None else abs(value - reference)


def _is_outside(apart: float | None, allowed: float | None) -> bool:
    return apart is None or (allowed is not None and apart > allowed)


def _strain(apart: float | None, allowed: float | None) -> float:
    if apart is None or allowed is None:
        return float("inf")
    return apart / allowed if allowed else apart


def _digits(value: float | None, digits: int) -> float | None:
    return None if value is None else float(f"{value:.{digits}g}")

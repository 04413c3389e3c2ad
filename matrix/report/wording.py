"""How numbers, verdicts and levels are worded, the same in every report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .model import BY_URGENCY, counts, unsettled

if TYPE_CHECKING:
    from ...compat.verdict import Level, Outcome, Verdict
    from .model import CellEntry, ReferenceEntry, Report

MARKS: Final[dict[Verdict, str]] = {
    "certified": "✓",
    "drifted": "≈",
    "regressed": "▼",
    "incorrect": "✗",
    "broken": "!",
    "incompatible": "⊘",
    "untested": "○",
}
NONE: Final = "\N{EN DASH}"
OUTCOME_MARKS: Final[dict[Outcome, str]] = {"pass": "✓", "fail": "✗", "skip": NONE}
VERDICT_MEANINGS: Final[dict[Verdict, str]] = {
    "certified": "Every check that applies at the level shown holds.",
    "drifted": "It leaves the envelope of what rounding explains, but by little: worth a look.",
    "regressed": "Correct, but slower than the baseline: the whole interval lies below the smallest ratio allowed.",
    "incorrect": "It trains, but wrongly: far outside the envelope, apart from the reference, or not repeatable.",
    "broken": "Resolving, installing or running failed, a limit was met, or what was made is not what the lock says.",
    "incompatible": "A known rule rules it out, so that it was not tried; or its image does not serve GPU or driver.",
    "untested": "Not taken far enough to be judged.",
}
LEVEL_MEANINGS: Final[dict[Level, str]] = {
    "declared": "The matrix names it. Nothing was tried.",
    "resolved": "An exact set of packages with hashes was found for it.",
    "inspected": "An image was built from that lock and looked into from within. Nothing was run in it.",
    "simulated": "The image's CUDA runtime was asked, inside it, about stand-ins of drivers. Nothing was trained.",
    "trained-cpu": "The spec was trained in that environment on a CPU, and its results were judged.",
    "trained-gpu": "The spec was trained in that environment on a GPU, and its results were judged.",
}
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
# What XML 1.0 cannot hold, C1 controls, and the marks that reorder text (they make a log read as what it is not).
_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
# Verdicts that a headline names before it sums up the rest.
NAMED_VERDICTS: Final = 2
_MINUTE, _HOUR = 60, 3600


def clean(text: str) -> str:
    """Return text without terminal escapes and control characters; tabs stay, and every line break is a line feed."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def one_line(text: str) -> str:
    """Return text cleaned and on a single line."""
    return " ".join(clean(text).split())


def number(value: str | float | None) -> str:
    """Return a number to four significant digits, in scientific form where that reads better; words stay words."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, int):
        return str(value)
    plain = value == 0 or 1e-3 <= abs(value) < 1e6  # noqa: PLR2004 - where digits are easier to read than an exponent
    return f"{value:.4g}" if plain and abs(value) < 1e4 else (f"{value:.0f}" if plain else f"{value:.2e}")  # noqa: PLR2004 - four digits hold


def ratio(value: float) -> str:
    """Return a speed ratio, such as 1.03 with a times sign after it."""
    return f"{value:.2f}\N{MULTIPLICATION SIGN}"


def interval(cell: CellEntry) -> str:
    """Return a cell's ratio with its interval in brackets; empty where none was measured."""
    speed = cell["throughput"]
    return f"{ratio(speed['ratio'])} [{speed['low']:.2f}, {speed['high']:.2f}]" if speed else ""


def speed_note(cell: CellEntry) -> str:
    """Return what stands in a cell's speed column: the ratio with its interval, `baseline`, or nothing."""
    return interval(cell) or ("baseline" if cell["baseline"] else "")


def seconds(value: float) -> str:
    """Return a duration, such as `340 ms`, `12.3 s`, `3 min 21 s` or `1 h 02 min`."""
    if value < 0.9995:  # noqa: PLR2004 - below, it rounds to less than 1000 ms
        return f"{value * 1000:.0f} ms"
    if value < _MINUTE - 0.05:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02d} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"


def size(value: float) -> str:
    """Return a number of bytes in binary units, such as `512 B` or `1.4 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:  # noqa: PLR2004 - the binary step
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as `1 cell` or `12 cells`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def agreement(reference: ReferenceEntry | None) -> tuple[Outcome, str]:
    """Say whether the frameworks of a reference agree, as an outcome and in a word; one alone cannot."""
    if reference is None:
        return "skip", "not made"
    if reference["agrees"] and len(reference["frameworks"]) == 1:
        return "skip", "one only"
    return ("pass", "yes") if reference["agrees"] else ("fail", "no")


def first_reason(cell: CellEntry) -> str:
    """Return the first reason of a cell on one line; empty where it has none."""
    return one_line(cell["reasons"][0]) if cell["reasons"] else ""


def mode_notes(report: Report) -> list[str]:
    """Return one sentence for each reason why cells were executed otherwise than their spec asks."""
    found: dict[tuple[str, str], int] = {}
    for cell in report["cells"]:
        if cell["mode"] and cell["mode_why"]:
            key = one_line(cell["mode"]), one_line(cell["mode_why"])
            found[key] = found.get(key, 0) + 1
    return [f"{plural(count, 'cell')} ran in mode {mode}: {why}" for (mode, why), count in found.items()]


def headline(report: Report) -> str:
    """Return what the whole matrix came to, such as `1 of 12 cells is incorrect`."""
    tally, total = counts(report), len(report["cells"])
    found = [(tally[verdict], verdict) for verdict in BY_URGENCY if tally[verdict] and verdict != "certified"]
    if not found:
        return f"{tally['certified']} of {plural(total, 'cell')} certified"
    words = [f"{count} {_be(count)} {verdict}" for count, verdict in found[:NAMED_VERDICTS]]
    words[0] = f"{found[0][0]} of {plural(total, 'cell')} {_be(found[0][0])} {found[0][1]}"
    more = sum(count for count, _ in found[NAMED_VERDICTS:])
    return ", ".join([*words, *([f"{more} more {_be(more)} not certified"] if more else [])])


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def conclusion(report: Report) -> str:
    """Return the headline, and after it the most urgent cell with its first reason."""
    worst = unsettled(report)
    if not worst:
        return headline(report)
    return ": ".join(part for part in (headline(report), clean(worst[0]["id"]), first_reason(worst[0])) if part)

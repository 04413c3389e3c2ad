"""`report.md`: GitHub-flavoured Markdown that reads well as a CI summary."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Final

from .grid import describe, lay_out
from .model import as_report, stack_id, unsettled
from .wording import (
    LEVEL_MEANINGS,
    MARKS,
    NONE,
    OUTCOME_MARKS,
    VERDICT_MEANINGS,
    agreement,
    clean,
    headline,
    mode_notes,
    number,
    one_line,
    plural,
    seconds,
    size,
    speed_note,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .model import CellEntry, Report, SpecEntry

LOG_LINES: Final = 40
# Underscores within words are no markup on GitHub; plus and minus are where a line begins with them.
_SPECIAL = re.compile(r"[\\`*\[\]#|~@$]|(?<![^\W_])_|_(?![^\W_])|^[-+]")
_PLAIN = re.compile(r"[\w.+\-:/ =]+", re.ASCII)


def render_markdown(report: Mapping[str, Any]) -> str:
    """Return the report as Markdown, for people who read it in a CI summary or a pull request."""
    entries = as_report(report)
    parts = [
        _head(entries),
        _cells(entries),
        _reasons(entries),
        _references(entries),
        _versions(entries),
        _images(entries),
        *(_details(cell) for cell in unsettled(entries)),
        _words(entries),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def text(value: str) -> str:
    """Return a string on one line as text that Markdown shows as it is: no markup, no mention."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", html.escape(one_line(value), quote=False))


def code(value: str) -> str:
    """Return a string on one line in code type."""
    line = one_line(value)
    return f"`{line}`" if _PLAIN.fullmatch(line) else f"<code>{text(line)}</code>"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table; every entry must be escaped already."""
    names = list(header)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _head(report: Report) -> str:
    machine, totals = report["machine"], report["totals"]
    memory = f", {size(machine['memory_bytes'])}" if machine["memory_bytes"] else ""
    gpu = f", {machine['gpu']}" if machine["gpu"] else ""
    where = f"{machine['cpu']}, {plural(machine['cores'], 'core')}{memory}{gpu}, {machine['os']}"
    runs = f"{plural(totals['runs_made'], 'run')} made, {totals['runs_reused']} reused"
    notes = "".join(f" {text(note)}." for note in mode_notes(report))
    return (
        f"# {text(report['matrix'])}: {headline(report)}\n\n"
        f"stackproof {text(report['stackproof'])}, {text(report['created'])}, on {text(where)}. "
        f"{runs}, in {seconds(totals['seconds'])}.{notes}"
    )


def _cells(report: Report) -> str:
    grid = lay_out(report)
    rows = ([code(row.id), *(_cell(cell) for cell in row.cells)] for row in grid.rows)
    return "## Cells\n\n" + table(["stack", *(text(spec) for spec in grid.specs)], rows)


def _cell(cell: CellEntry | None) -> str:
    if cell is None:
        return NONE
    note = speed_note(cell)
    return f"{MARKS[cell['verdict']]} **{cell['verdict']}**<br>{cell['level']}" + (f"<br>{note}" if note else "")


def _reasons(report: Report) -> str:
    cells = unsettled(report)
    if not cells:
        return ""
    lines = (
        f"- {MARKS[cell['verdict']]} **{cell['verdict']}** {code(cell['id'])}"
        + "".join(f"\n  - {text(reason)}" for reason in cell["reasons"])
        for cell in cells
    )
    return "## Reasons\n\n" + "\n".join(lines)


def _references(report: Report) -> str:
    rows = ([code(spec["name"]), text(spec["summary"]), *_reference(spec)] for spec in report["specs"])
    header = ["spec", "trains", "float64 reference", "largest relative difference", "agree"]
    return "## Reference\n\n" + table(header, rows)


def _reference(spec: SpecEntry) -> list[str]:
    reference = spec["reference"]
    outcome, word = agreement(reference)
    if reference is None:
        return ["none", NONE, word]
    said = f"{OUTCOME_MARKS[outcome]} {word}" + (f": {text(reference['why'])}" if reference["why"] else "")
    return [text(", ".join(reference["frameworks"])) or "none", number(reference["agreement"]), said]


def _versions(report: Report) -> str:
    rows = (
        [
            code(name),
            text(f"{cell['stack']['package']} {cell['stack']['version']}"),
            text(describe(cell["stack"])),
            text(cell["build"] or NONE),
            text(cell["packages"].get("numpy", NONE)),
            str(len(cell["packages"])) if cell["packages"] else NONE,
            code(cell["lock_digest"][:12]) if cell["lock_digest"] else NONE,
        ]
        for name, cell in _first_cells(report).items()
    )
    header = ["stack", "framework", "with", "build", "numpy", "packages", "lock"]
    return "## Versions\n\n" + table(header, rows)


def _images(report: Report) -> str:
    images = {name: cell.get("image") for name, cell in _first_cells(report).items()}
    rows = (
        [
            code(name),
            code(image["reference"]),
            text(image["engine"]),
            code(image["content_digest"][:12]),
            text(image["base"].partition("@")[0]),
            size(image["size"]),
            text(", ".join(f"{layer} {size(count)}" for layer, count in image["layers"])),
        ]
        for name, image in images.items()
        if image
    )
    header = ["stack", "image", "engine", "content", "base", "size", "of which"]
    return f"## Images\n\n{table(header, rows)}" if any(images.values()) else ""


def _first_cells(report: Report) -> dict[str, CellEntry]:
    """Return the first cell of each stack that has an image, else its first cell, by the stack's id."""
    first: dict[str, CellEntry] = {}
    for cell in report["cells"]:
        if not first.setdefault(stack_id(cell), cell).get("image") and cell.get("image"):
            first[stack_id(cell)] = cell
    return first


def _details(cell: CellEntry) -> str:
    parts = [f"<details><summary>{MARKS[cell['verdict']]} {cell['verdict']}: {code_html(cell['id'])}</summary>"]
    parts += [f"- {text(reason)}" for reason in cell["reasons"][:1]]
    if cell["checks"]:
        rows = (
            [
                text(check["name"]),
                f"{OUTCOME_MARKS[check['outcome']]} {check['outcome']}",
                text(number(check["measured"])),
                text(number(check["allowed"])),
                text(check["why"]),
            ]
            for check in cell["checks"]
        )
        parts.append(table(["check", "outcome", "measured", "allowed", "why"], rows))
    if cell["log"]:
        parts.append(f"<pre>{html.escape(_log(cell['log']), quote=False)}</pre>")
    return "\n\n".join([*parts, "</details>"])


def code_html(value: str) -> str:
    """Return a string on one line in code type, where only HTML is understood."""
    return f"<code>{html.escape(one_line(value), quote=False)}</code>"


def _log(lines: list[str]) -> str:
    # An empty line would end the HTML block, and what follows would be read as Markdown.
    kept = [line for line in clean("\n".join(lines)).splitlines() if line.strip()]
    left_out = len(kept) - LOG_LINES
    return "\n".join([*([f"({left_out} earlier lines left out)"] if left_out > 0 else []), *kept[-LOG_LINES:]])


def _words(report: Report) -> str:
    verdicts = {cell["verdict"] for cell in report["cells"]}
    levels = {cell["level"] for cell in report["cells"]}
    lines = [f"- {MARKS[name]} **{name}**: {meaning}" for name, meaning in VERDICT_MEANINGS.items() if name in verdicts]
    lines += [f"- **{name}**: {meaning}" for name, meaning in LEVEL_MEANINGS.items() if name in levels]
    return "<details><summary>What the words mean</summary>\n\n" + "\n".join(lines) + "\n\n</details>"

"""The report on a terminal: a table of cells and checks, the reasons, the totals, and where the files lie."""

from __future__ import annotations

import io
import os
import shutil
from typing import TYPE_CHECKING, Any, Final, TextIO

from ...compat.verdict import VERDICTS
from .model import as_report, check_names, counts, unsettled
from .wording import (
    MARKS,
    OUTCOME_MARKS,
    clean,
    first_reason,
    headline,
    mode_notes,
    one_line,
    plural,
    seconds,
    speed_note,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ...compat.verdict import Verdict
    from .model import CellEntry, Report

PLAIN_WIDTH: Final = 10_000
LOG_LINES: Final = 8
_STYLES: Final[dict[Verdict, str]] = {
    "certified": "green",
    "drifted": "yellow",
    "regressed": "dark_orange",
    "incorrect": "bold red",
    "broken": "bold magenta",
    "incompatible": "blue",
    "untested": "dim",
}
_OUTCOME_STYLES: Final = {"pass": "green", "fail": "bold red", "skip": "dim"}
_ASCII: Final = str.maketrans(
    {
        **dict(zip(MARKS.values(), "+~vx!/o", strict=True)),
        "\N{EN DASH}": "-",
        "\N{MULTIPLICATION SIGN}": "x",
    }
)


def show_report(report: Mapping[str, Any], files: Sequence[Path], stream: TextIO) -> None:
    """Write the report to a stream: a table with colours on a terminal, else plain lines.

    `NO_COLOR` is honoured, and a stream that cannot hold the symbols gets ASCII ones.

    Args:
        report: The report dict.
        files: The report files that were written.
        stream: Where to write.
    """
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    width = shutil.get_terminal_size().columns if terminal else None
    text = render_terminal(report, files, width=width, colour=terminal and not os.environ.get("NO_COLOR"))
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    stream.write(text)


def render_terminal(
    report: Mapping[str, Any], files: Sequence[Path] = (), *, width: int | None = None, colour: bool = False
) -> str:
    """Return the report as text.

    Args:
        report: The report dict.
        files: The report files that were written.
        width: Columns of the terminal; None for plain lines, one per cell, as logs and pipes want them.
        colour: Whether to colour by ANSI sequences.

    Returns:
        The text, with a line break at its end.
    """
    entries = as_report(report)
    console = _console(width or PLAIN_WIDTH, colour=colour)
    with console.capture() as captured:
        _cells(console, entries, width)
        _reasons(console, entries)
        _totals(console, entries, files)
    return captured.get()


def _console(width: int, *, colour: bool) -> Console:
    from rich.console import Console  # noqa: PLC0415 - heavy, and needed only where something is shown

    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        no_color=not colour,
        color_system="256" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )


def _cells(console: Console, report: Report, width: int | None) -> None:
    if width is None:
        for cell in report["cells"]:
            console.print(_plain_line(cell), soft_wrap=True)
        return
    for short in (False, True):
        table = _table(report, short=short)
        if console.measure(table, options=console.options.update(width=PLAIN_WIDTH)).maximum <= width:
            console.print(table)
            return
    for cell in report["cells"]:
        _two_lines(console, cell)


def _plain_line(cell: CellEntry) -> str:
    reason = first_reason(cell) if cell["verdict"] != "certified" else ""
    parts = [f"{cell['verdict']:<12}", one_line(cell["id"]), cell["level"], speed_note(cell), reason]
    return "  ".join(part for part in parts if part)


def _two_lines(console: Console, cell: CellEntry) -> None:
    failed = [check["name"] for check in cell["checks"] if check["outcome"] == "fail"]
    failing = f"fails: {one_line(', '.join(failed))}" if failed else ""
    notes = (cell["level"], speed_note(cell), failing)
    console.print(_titled(cell), overflow="fold")
    _indented(console, "  ".join(note for note in notes if note), "dim")


def _table(report: Report, *, short: bool) -> Table:
    """Return cells by checks; `short` puts the marks of all checks into one column."""
    from rich.table import Table  # noqa: PLC0415 - as rich.console
    from rich.text import Text  # noqa: PLC0415 - as rich.console

    names = check_names(report)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    columns = ["checks"] if short else [one_line(name) for name in names]
    for column in ("cell", "verdict", "level", *columns, "ratio"):
        table.add_column(column, no_wrap=True, justify="center" if column in columns and not short else "left")
    if short and names:
        table.caption = f"checks in this order: {', '.join(one_line(name) for name in names)}"
        table.caption_justify = "left"
    for cell in report["cells"]:
        marks = _marks(cell, names)
        shown = [Text.assemble(*marks)] if short else marks
        table.add_row(one_line(cell["id"]), _verdict(cell["verdict"]), cell["level"], *shown, speed_note(cell))
    return table


def _marks(cell: CellEntry, names: Sequence[str]) -> list[Text]:
    from rich.text import Text  # noqa: PLC0415 - as rich.console

    outcomes = {check["name"]: check["outcome"] for check in cell["checks"]}
    found = [outcomes.get(name) for name in names]
    return [Text(OUTCOME_MARKS[outcome], style=_OUTCOME_STYLES[outcome]) if outcome else Text(" ") for outcome in found]


def _reasons(console: Console, report: Report) -> None:
    for cell in unsettled(report):
        console.print()
        console.print(_titled(cell), overflow="fold")
        for reason in cell["reasons"]:
            _indented(console, one_line(reason))
        for line in clean("\n".join(cell["log"] or [])).splitlines()[-LOG_LINES:]:
            _indented(console, f"| {line}", "dim")


def _totals(console: Console, report: Report, files: Sequence[Path]) -> None:
    from rich.text import Text  # noqa: PLC0415 - as rich.console

    tally, totals = counts(report), report["totals"]
    words = [f"{tally[verdict]} {verdict}" for verdict in VERDICTS if tally[verdict]]
    runs = f"{plural(totals['runs_made'], 'run')} made, {totals['runs_reused']} reused"
    console.print()
    console.print(Text(headline(report), style="bold"))
    console.print(Text(f"{', '.join(words)}; {runs}, in {seconds(totals['seconds'])}"))
    for note in mode_notes(report):
        console.print(Text(note), soft_wrap=True)
    for path in files:
        console.print(Text(str(path), style="dim"), soft_wrap=True)


def _titled(cell: CellEntry) -> Text:
    from rich.text import Text  # noqa: PLC0415 - as rich.console

    return Text.assemble(_verdict(cell["verdict"]), " ", (one_line(cell["id"]), "bold"))


def _verdict(verdict: Verdict) -> Text:
    from rich.text import Text  # noqa: PLC0415 - as rich.console

    return Text(f"{MARKS[verdict]} {verdict}", style=_STYLES[verdict])


def _indented(console: Console, words: str, style: str = "") -> None:
    from rich.padding import Padding  # noqa: PLC0415 - as rich.console
    from rich.text import Text  # noqa: PLC0415 - as rich.console

    console.print(Padding(Text(words, style=style, overflow="fold"), (0, 0, 0, 2), expand=False))

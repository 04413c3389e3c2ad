"""`report.html`: one file that works offline, with everything in it."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from ...compat.verdict import LEVELS, VERDICTS
from .details import details
from .grid import lay_out
from .model import as_report, counts, stack_id, unsettled
from .overview import lay_out_speeds
from .wording import (
    LEVEL_MEANINGS,
    MARKS,
    OUTCOME_MARKS,
    VERDICT_MEANINGS,
    agreement,
    clean,
    first_reason,
    headline,
    mode_notes,
    number,
    one_line,
    plural,
    ratio,
    seconds,
    size,
    speed_note,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment

    from .model import CellEntry, Report

SCRIPTS: Final = ("draw.js", "charts.js", "details.js", "page.js")
STYLES: Final = ("base.css", "page.css", "details.css")
# Inside a script element only these can end or restart markup; as escapes they mean the same to JSON.
_MARKUP: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render_html(report: Mapping[str, Any]) -> str:
    """Return the report as one HTML page: no request leaves it, and its policy forbids any.

    Every string of the report is escaped by the template or by `embed`; the page's own script and style are admitted
    by their digests, so that nothing smuggled into a name or a log could run.
    """
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2, needed only here

    entries = as_report(report)
    script = "\n".join(_template(name) for name in SCRIPTS)
    style = "\n".join(_template(name) for name in STYLES)
    return (
        _environment()
        .get_template("report.html")
        .render(
            script=Markup(script),  # noqa: S704 - a file of this package
            style=Markup(style),  # noqa: S704 - a file of this package
            policy=f"default-src 'none'; img-src data:; script-src {_admit(script)}; style-src {_admit(style)}",
            data=Markup(embed(details(entries))),  # noqa: S704 - escaped by embed
            **_view(entries),
        )
    )


def embed(tables: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return JSON that is safe inside a script element."""
    text = json.dumps(tables, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode()
    return "".join(_MARKUP.get(letter, letter) for letter in text)


def _view(report: Report) -> dict[str, Any]:
    worst = unsettled(report)
    tally = counts(report)
    reached = [cell["level"] for cell in report["cells"]]
    return {
        "report": report,
        "headline": headline(report),
        "worst": worst,
        "notes": mode_notes(report),
        "grid": lay_out(report),
        "speeds": lay_out_speeds(report),
        "machine": _machine(report),
        "verdicts": [(name, tally[name], VERDICT_MEANINGS[name]) for name in VERDICTS],
        "levels": [(name, reached.count(name), LEVEL_MEANINGS[name]) for name in LEVELS],
        "tone": worst[0]["verdict"] if worst else "certified",
    }


def _machine(report: Report) -> list[tuple[str, str]]:
    machine, totals = report["machine"], report["totals"]
    memory = f" · {size(machine['memory_bytes'])}" if machine["memory_bytes"] else ""
    found = [
        ("When", one_line(report["created"]).replace("T", " ").replace("Z", " UTC")),
        ("System", one_line(machine["os"])),
        ("Processor", f"{one_line(machine['cpu'])} · {plural(machine['cores'], 'core')}{memory}"),
        (
            "GPU",
            " · driver ".join(one_line(part) for part in (machine["gpu"], machine.get("driver")) if part) or "none",
        ),
        ("Took", f"{seconds(totals['seconds'])} · {totals['runs_made']} runs made, {totals['runs_reused']} reused"),
        ("Made by", f"stackproof {one_line(report['stackproof'])} · Python {one_line(machine['python'])}"),
    ]
    return [(label, value) for label, value in found if value]


def _spoken(cell: CellEntry) -> str:
    """Return what a screen reader says of a tile."""
    speed = f", {ratio(cell['throughput']['ratio'])} the baseline's speed" if cell["throughput"] else ""
    baseline = ", baseline" if cell["baseline"] else ""
    return f"{clean(cell['id'])}: {cell['verdict']}, level {cell['level']}{speed}{baseline}"


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415 - heavy, needed only here

    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(_template),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        fragment=lambda text: quote(clean(text), safe=""),
        clean=clean,
        number=number,
        ratio=ratio,
        agreement=agreement,
        speed_note=speed_note,
        spoken=_spoken,
        stack_id=stack_id,
        first_reason=first_reason,
        mark=MARKS.get,
        outcome_mark=OUTCOME_MARKS.get,
    )
    return environment


def _template(name: str) -> str:
    return resources.files(__package__ or "").joinpath("templates", name).read_text(encoding="utf-8")


def _admit(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"

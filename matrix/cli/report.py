"""`stackproof report`: show a certified matrix again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...compat.errors import Fault, InputError
from ...compat.verdict import VERDICTS
from ..report.model import CellEntry, Report, SpecEntry, Totals
from ..report.write import write_reports
from .certify import exit_code, show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def run(options: argparse.Namespace) -> int:
    """Write a folder's reports again from its report.json, and show them."""
    report = read_report(options.folder)
    write_reports(report, options.folder)
    show(report, options.folder, as_json=options.json)
    return exit_code(report)


def read_report(folder: Path) -> dict[str, Any]:
    """Read the report that certify left in a folder.

    Raises:
        InputError: There is none, or it is not one that this version reads.
    """
    path = folder / "report.json"
    try:
        report = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        mend = "certify leaves one when it comes to its end; an interrupted run goes on with certify --resume"
        raise InputError(str(folder), [Fault("", f"has no report.json: {mend}")]) from error
    except (OSError, ValueError) as error:
        raise InputError(str(path), [Fault("", f"cannot be read as JSON: {error}; certify writes it anew")]) from error
    if not isinstance(report, dict) or report.get("schema_version") != 1:
        raise InputError(str(path), [Fault("", "is no report that this version reads; certify writes it anew")])
    for where in _lacking(report):
        raise InputError(str(path), [Fault(where, "is missing or of another kind; certify writes the report anew")])
    return report


def _lacking(report: Mapping[str, Any]) -> Iterator[str]:
    """Return the keys of a report without which it cannot be shown."""
    yield from _missing("", report, Report)
    for name, kind in (("cells", CellEntry), ("specs", SpecEntry)):
        entries = report[name]
        if not isinstance(entries, list):
            yield name
        else:
            for index, entry in enumerate(entries):
                yield from _missing(f"{name}[{index}].", entry, kind)
    yield from _missing("totals.", report["totals"], Totals)
    yield from (f"cells[{i}].verdict" for i, cell in enumerate(report["cells"]) if cell["verdict"] not in VERDICTS)


def _missing(where: str, table: object, kind: Any) -> Iterator[str]:  # noqa: ANN401 - a class of TypedDict
    if not isinstance(table, dict):
        yield where.rstrip(".")
    else:
        yield from (f"{where}{key}" for key in sorted(kind.__annotations__) if key not in table)

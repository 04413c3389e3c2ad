"""`stackproof facts`: the knowledge base."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

from ...compat.errors import InputError
from ...compat.facts import load_table, table_names
from ...compat.facts.faults import find_faults
from ...compat.facts.query import as_document, find_facts
from .output import standard_output

if TYPE_CHECKING:
    import argparse

    from ...compat.facts import Row


def run(options: argparse.Namespace) -> int:
    """Show facts, or look for faults in them."""
    with standard_output() as stream:
        return _check(options, stream) if options.action == "check" else _show(options, stream)


def _show(options: argparse.Namespace, stream: TextIO) -> int:
    if not options.subject:
        _write(
            stream,
            options,
            _tables(),
            [f"{name}  {table['subject']}: {table['rows']} rows" for name, table in _tables().items()],
        )
        return 0
    rows = find_facts(options.subject, options.version)
    lines = [line for row in rows for line in _lines(row)]
    _write(stream, options, {"facts": [as_document(row) for row in rows]}, lines)
    return 0


def _check(options: argparse.Namespace, stream: TextIO) -> int:
    faults = find_faults()
    if faults:
        raise InputError("facts", faults)
    rows = sum(len(load_table(name).rows) for name in table_names())
    _write(
        stream,
        options,
        {"tables": len(table_names()), "rows": rows, "faults": []},
        [f"{rows} facts in {len(table_names())} tables, no faults"],
    )
    return 0


def _tables() -> dict[str, Any]:
    return {name: {"subject": load_table(name).subject, "rows": len(load_table(name).rows)} for name in table_names()}


def _lines(row: Row) -> list[str]:
    fields = "; ".join(f"{key} {_plain(value)}" for key, value in row.values.items() if value not in (None, [], {}))
    return [f"{row.table}: {fields}", f"    {row.source}"]


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(
            f"{key}{entry}" if isinstance(entry, str) else f"{key}: {_plain(entry)}" for key, entry in value.items()
        )
    return str(value)


def _write(stream: TextIO, options: argparse.Namespace, document: dict[str, Any], lines: list[str]) -> None:
    if options.json:
        stream.write(json.dumps({"schema_version": 1, **document}, indent=1) + "\n")
    else:
        stream.writelines(f"{line}\n" for line in lines)

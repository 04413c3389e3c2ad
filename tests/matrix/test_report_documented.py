"""`docs/report.md` names every key of what certify writes, and no others."""

from __future__ import annotations

import re
import runpy
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import pytest

from stackproof.compat.cell import Cell, Stack
from stackproof.compat.finding import Because, Finding
from stackproof.compat.lock import Lock, Package
from stackproof.compat.verdict import LEVELS, VERDICTS
from stackproof.matrix.assemble import _stack
from stackproof.matrix.certificate import make_certificate
from stackproof.matrix.config import load_matrix
from stackproof.matrix.machine import read_machine
from stackproof.matrix.report import model
from stackproof.matrix.site import Settings, open_site
from stackproof.matrix.store import DATABASE, Store

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
REPORT: dict[str, Any] = runpy.run_path(str(ROOT / "tests" / "matrix" / "report" / "sample.py"))["certified_report"]()
FINDING: dict[str, Any] = Finding(
    "SP601", "error", ("python", "torch"), "No wheel.", (Because("a fact", "a source"),), ("torch==2.5.0",)
).as_json()
FULL = Cell(Stack("jax", "0.10.2", "3.11", extras=("cuda12",), os="debian:bookworm"), "gpt_tiny")
CELL: dict[str, Any] = next(cell for cell in REPORT["cells"] if cell["throughput"]) | {
    "stack": _stack(FULL),
    "image": dict.fromkeys(get_type_hints(model.ImageEntry)),
}
CHECKS = {"trajectory", "reference", "determinism", "versions", "start", "throughput"} | {
    *("linking", "cuda-libraries", "architectures", "symbols", "packages", "hygiene", "drivers", "image")
}


def section(title: str, level: int = 3) -> str:
    mark = "#" * level
    (found,) = re.findall(rf"^{mark} {re.escape(title)}\n(.*?)(?=^#{{2,{level}}} |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def keys(text: str, column: str = "key") -> set[str]:
    """Return what the first columns of the tables with that heading name; `a`, `b` in one field are two."""
    found: set[str] = set()
    for heading, rows in re.findall(r"^\| (\w+)[^\n]*\n\| ---[^\n]*\n((?:\|[^\n]*\n?)+)", text, re.MULTILINE):
        if heading == column:
            for row in rows.splitlines():
                found |= set(re.findall(r"`([^`]+)`", row.split("|")[1]))
    return found


def nested(tables: Mapping[str, Any], *below: str) -> set[str]:
    return {*tables, *(f"{name}.{key}" for name in below for key in tables[name])}


@pytest.mark.parametrize(
    ("title", "tables", "record"),
    [
        ("Top level", REPORT, model.Report),
        ("`machine`", REPORT["machine"], model.MachineEntry),
        ("`specs[]`", REPORT["specs"][0], model.SpecEntry),
        ("`cells[]`", CELL, model.CellEntry),
        ("`findings[]`", FINDING, model.FindingEntry),
        ("`checks[]`", CELL["checks"][0], model.CheckEntry),
        ("`throughput`", CELL["throughput"], model.ThroughputEntry),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_key_of_a_report_is_documented(title: str, tables: dict[str, Any], record: type) -> None:
    below = [name for name in ("reference", "stack", "image") if name in tables]
    assert keys(section(title)) == nested(tables, *below)
    assert set(tables) == set(get_type_hints(record))


def test_a_stack_says_what_the_matrix_asked_for_and_no_more() -> None:
    assert set(CELL["stack"]) == set(get_type_hints(model.StackEntry))
    plain = _stack(Cell(Stack("jax", "0.10.2", "3.11"), "gpt_tiny"))
    assert plain == {"package": "jax", "version": "0.10.2", "python": "3.11", "packages": {}, "framework": "jax"}


def test_the_machine_is_documented_as_it_is_read() -> None:
    assert keys(section("`machine`")) == set(vars(read_machine()))


def test_totals_and_curves_are_documented() -> None:
    text = section("`totals`")
    assert set(re.findall(r"`(\w+)`", text)) == set(REPORT["totals"])
    assert set(re.findall(r"`(\w+)`", section("`curves`"))) == set(CELL["curves"])


def test_every_word_of_a_judgement_is_documented() -> None:
    assert keys(section("Verdicts"), "verdict") == set(VERDICTS)
    assert set(LEVELS) <= set(re.findall(r"`([\w-]+)`", section("Levels")))
    assert keys(section("`checks[]`"), "name") == CHECKS
    assert {check["name"] for check in CELL["checks"]} <= CHECKS


def test_certificate_lock_and_store_are_documented(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        site = open_site(tmp_path, store, load_matrix(ROOT / "examples" / "quickstart.toml"), Settings())
        certificate = make_certificate(site, REPORT, CELL, REPORT["specs"][0])
        with closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
            columns = {row[1] for row in connection.execute("PRAGMA table_info(results)")}
    text = section("Certificates", 2)
    stated = re.findall(r"`(\w+)`", text.partition("and, as in the report's cell:")[2])
    assert keys(text) | set(stated) == set(certificate)
    lock = Lock("jax0.10.2-py311", "3.11.7", "linux_x86_64", (Package("jax", "0.10.2", ("sha256:0",)),), "cpu", "")
    assert keys(section("Locks", 2)) == {"digest", *lock.to_dict()}
    assert keys(section("The store", 2), "column") == columns

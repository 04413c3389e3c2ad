"""Faults in tables of facts: none in those that are shipped, and all of those that are planted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackproof.compat.facts.faults import faults_of, find_faults

SOUND: dict[str, Any] = {
    "schema_version": 1,
    "subject": "cuDNN",
    "sources": {"pypi": {"title": "METADATA", "date": "2026-11-30"}},
    "rows": [{"version": "9.1.0.70", "cuda_majors": [12], "source": "pypi", "confidence": "documented"}],
}


def table(**changes: Any) -> str:
    return json.dumps({**SOUND, **changes})


def rows(*found: Any) -> str:
    return table(rows=list(found))


def said(name: str, text: str) -> str:
    return "\n".join(f"{fault.where}: {fault.what}" for fault in faults_of(name, text))


def test_the_shipped_tables_have_no_fault() -> None:
    assert find_faults() == []


def test_a_sound_table_has_no_fault() -> None:
    assert faults_of("cudnn", table()) == []


@pytest.mark.parametrize("text", ["", "{", "[1", "\x00", '{"rows": NaN'])
def test_a_file_that_is_no_json_is_one_fault(text: str) -> None:
    (fault,) = faults_of("cudnn", text)
    assert "JSON" in fault.what
    assert fault.source == "cudnn.json"


@pytest.mark.parametrize("text", ["[]", "3", "null", '"text"'])
def test_a_document_that_is_no_object_is_one_fault(text: str) -> None:
    assert "object" in said("cudnn", text)


def test_what_a_document_lacks_is_named_at_once() -> None:
    found = said("cudnn", json.dumps({"sources": {"a": {"title": "", "date": "yesterday"}, "b": 3}}))
    assert all(word in found for word in ("schema_version", "subject", "rows", "sources.a", "sources.b"))


def test_every_planted_fault_is_named_at_once() -> None:
    found = said(
        "cudnn",
        rows(
            {"version": "1", "cuda_majors": [], "source": "hearsay", "confidence": "documented"},
            {"version": "1", "cuda_majors": [], "source": "pypi", "confidence": "certain"},
            {"version": "1", "cuda_majors": [], "source": "pypi", "confidence": "documented", "date": "30.11.2026"},
            {"source": "pypi", "confidence": "documented"},
            "a row",
            {"version": "1", "cuda_majors": [], "source": [], "confidence": "documented"},
            {"version": "1", "cuda_majors": [], "source": {"a": [1]}, "confidence": "documented"},
        ),
    )
    planted = {
        "rows[0]": "hearsay",
        "rows[1]": "certain",
        "rows[2]": "30.11.2026",
        "rows[3]": "version is missing",
        "rows[4]": "object",
        "rows[5]": "source",
        "rows[6]": "source",
    }
    lines = found.splitlines()
    assert all(any(line.startswith(where) and word in line for line in lines) for where, word in planted.items()), found


@pytest.mark.parametrize(
    ("name", "fields", "word"),
    [
        ("torch", {"torch": "2.1", "default": True, "pythons": [], "cuda": "twelve"}, "twelve"),
        ("torch", {"torch": "2.1", "default": True, "pythons": [], "cuda": "12.1", "archs": ["sm80"]}, "sm80"),
        ("torch", {"torch": "2.1", "default": True, "pythons": [], "cuda": "12.1", "archs": "sm_80"}, "list"),
        ("torch", {"torch": "2.1", "default": True, "pythons": [], "cuda": "12.1", "glibc": "manylinux"}, "manylinux"),
        ("jax", {"jax": "0.4.1", "archs": {"12": ["sm_80", "ptx"]}}, "'ptx'"),
        ("packages", {"package": "a", "versions": ["1.0", "one"]}, "'one'"),
        ("packages", {"package": "a", "versions": ["1.0"], "requires": ["torch =>= 2"]}, "torch =>= 2"),
        ("gpus", {"name": "A", "compute_capability": "ampere", "kind": "geforce"}, "ampere"),
        ("conflicts", {"id": "a", "code": "701", "when": {"a": ""}, "severity": "error", "effect": "x"}, "'701'"),
        ("conflicts", {"id": "a", "code": "SP701", "when": {}, "severity": "error", "effect": "x"}, "when"),
        ("conflicts", {"id": "a", "code": "SP701", "when": {"a": "<<1"}, "severity": "error", "effect": "x"}, "<<1"),
        ("conflicts", {"id": "a", "code": "SP701", "when": {"a": 1}, "severity": "error", "effect": "x"}, "a: 1"),
        ("conflicts", {"id": "a", "code": "SP701", "when": {"a": ""}, "severity": "fatal", "effect": "x"}, "fatal"),
        (
            "conflicts",
            {"id": "a", "code": "SP701", "when": {"a": ""}, "severity": "error", "effect": "x", "platform": "amiga"},
            "amiga",
        ),
    ],
)
def test_a_value_that_cannot_be_read_is_named(name: str, fields: dict[str, Any], word: str) -> None:
    found = said(name, rows({**fields, "source": "pypi", "confidence": "documented"}))
    assert found.startswith("rows[0]")
    assert word in found


def test_two_conflicts_with_one_id_are_a_fault() -> None:
    row = {"id": "a", "code": "SP701", "when": {"a": ""}, "severity": "error", "effect": "x"}
    both = rows(*[{**row, "source": "pypi", "confidence": "documented"}] * 2)
    assert "rows[1]: id: 'a'" in said("conflicts", both)

"""What is known to fail of ONNX's suite: `benchmarks/expected_failures.toml`, read and held against what was found."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LIST = Path(__file__).resolve().parents[2] / "benchmarks" / "expected_failures.toml"
TARGETS = ("torch", "tensorflow", "jax")


@dataclass(frozen=True)
class ExpectedFailure:
    """Cases that are known to fail: a name or glob, the frameworks on which they do, and why."""

    case: str
    frameworks: tuple[str, ...]
    reason: str


def read_expected(text: str | None = None) -> tuple[ExpectedFailure, ...]:
    """Return the entries of the list.

    Raises:
        ValueError: An entry lacks a field, has another one, or names no framework.
    """
    tables = tomllib.loads(LIST.read_text(encoding="utf-8") if text is None else text).get("failure", [])
    return tuple(_entry(table) for table in tables)


def _entry(table: Mapping[str, object]) -> ExpectedFailure:
    if set(table) != {"case", "frameworks", "reason"}:
        raise ValueError(f"{table}: an expected failure has case, frameworks and reason")
    frameworks = tuple(map(str, table["frameworks"]))  # type: ignore[call-overload] # TOML has lists only
    if not frameworks or not set(frameworks) <= set(TARGETS) or not table["reason"]:
        raise ValueError(f"{table}: frameworks are some of {TARGETS}, and the reason is not empty")
    return ExpectedFailure(str(table["case"]), frameworks, str(table["reason"]))


def reason_of(entries: Iterable[ExpectedFailure], case: str, target: str) -> str:
    """Return why a case is known to fail on a framework, or an empty string."""
    found = (entry.reason for entry in entries if target in entry.frameworks and fnmatchcase(case, entry.case))
    return next(found, "")


def surprises(entries: Iterable[ExpectedFailure], found: Mapping[str, str], target: str) -> list[str]:
    """Return what differs from the list: unlisted failures and unexpected passes.

    Args:
        entries: The list.
        found: Why each case that ran fails on the target; an empty string where it passes.
        target: The framework.
    """
    entries = tuple(entries)
    lines = []
    for case, why in found.items():
        expected = bool(reason_of(entries, case, target))
        if why and not expected:
            lines.append(f"{case} on {target} fails: {why}")
        elif expected and not why:
            lines.append(f"{case} on {target} passes, and expected_failures.toml says that it fails")
    return lines


def unmatched(entries: Iterable[ExpectedFailure], cases: Iterable[str]) -> list[str]:
    """Return the entries that name no case."""
    names = list(cases)
    return [entry.case for entry in entries if not any(fnmatchcase(name, entry.case) for name in names)]

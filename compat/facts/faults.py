"""Look through every table for faults, and name all of them at once."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from ..errors import Fault
from .table import CONFIDENCES, read_text, table_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_ARCH: Final = re.compile(r"(sm|compute|ptx)_\d{2,3}[af]?")
_LEVEL: Final = re.compile(r"\d+(\.\d+){0,3}")
_CODE: Final = re.compile(r"SP\d{3}")
_SEVERITIES: Final = ("error", "warning", "note")
_PLATFORMS: Final = ("windows", "linux", "macos", "aarch64")

# Fields that every row of a table has, beside source and confidence.
REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "architectures": ("compute_capability", "architecture", "first_cuda"),
    "conflicts": ("id", "code", "when", "severity", "effect"),
    "cuda": ("cuda",),
    "cuda_majors": ("major", "minor_compatibility"),
    "cudnn": ("version", "cuda_majors"),
    "cudnn_archs": ("package", "version", "archs"),
    "cudnn_for_cuda": ("cuda", "cudnn"),
    "drivers": ("branch", "cuda"),
    "forward_compat": ("package", "cuda", "supported", "native", "rejected"),
    "gpus": ("name", "compute_capability", "kind"),
    "jax": ("jax",),
    "nccl": ("package", "version", "cuda"),
    "nvrtc": ("cuda", "archs"),
    "onnxruntime_gpu": ("version", "cuda_major", "cudnn_major"),
    "packages": ("package", "versions"),
    "systems": ("system", "release", "glibc"),
    "tensorflow": ("tensorflow", "cuda", "pythons"),
    "tolerated": ("package", "versions", "on", "found", "why"),
    "torch": ("torch", "cuda", "default", "pythons"),
}


def find_faults() -> list[Fault]:
    """Return every fault of every table: rows without source, date or confidence, and values that cannot be read."""
    return [fault for name in table_names() for fault in faults_of(name, read_text(name))]


def faults_of(name: str, text: str) -> list[Fault]:
    """Return the faults of one table's file."""
    try:
        document = json.loads(text)
    except ValueError as error:
        return [Fault("", f"is no JSON: {error}", f"{name}.json")]
    found = list(_document_faults(document)) if isinstance(document, dict) else ["must be an object"]
    faults = [Fault("", fault, f"{name}.json") for fault in found]
    if faults:
        return faults
    sources: Mapping[str, Any] = document["sources"]
    for index, row in enumerate(document["rows"]):
        faults += [Fault(f"rows[{index}]", fault, f"{name}.json") for fault in _row_faults(name, row, sources)]
    return [*faults, *_repeated(name, document["rows"])]


def _repeated(name: str, rows: list[Any]) -> Iterator[Fault]:
    """Yield the rows whose id another row has."""
    seen: set[str] = set()
    for index, row in enumerate(rows):
        given = str(row["id"]) if isinstance(row, dict) and "id" in row else None
        if given in seen:
            yield Fault(f"rows[{index}]", f"id: {given!r} is another row's too", f"{name}.json")
        seen |= {given} if given is not None else set()


def _document_faults(document: Mapping[str, Any]) -> Iterator[str]:
    for key, kind in (("schema_version", int), ("subject", str), ("sources", dict), ("rows", list)):
        if not isinstance(document.get(key), kind):
            yield f"{key} must be there, as {kind.__name__}"
    sources = document.get("sources")
    for key, source in (sources if isinstance(sources, dict) else {}).items():
        if not isinstance(source, dict) or not source.get("title") or not _DATE.fullmatch(str(source.get("date"))):
            yield f"sources.{key} must have a title, and a date as YYYY-MM-DD"


def _row_faults(table: str, row: object, sources: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(row, dict):
        yield "must be an object"
        return
    named = row.get("source")
    keys = named if isinstance(named, list) else [named]
    if not keys or any(str(key) not in sources for key in keys):
        yield f"source must name one of sources, not {named!r}"
    if row.get("confidence") not in CONFIDENCES:
        yield f"confidence must be one of {', '.join(CONFIDENCES)}, not {row.get('confidence')!r}"
    if row.get("date") is not None and not _DATE.fullmatch(str(row["date"])):
        yield f"date must be YYYY-MM-DD, not {row['date']!r}"
    for key in REQUIRED.get(table, ()):
        if key not in row:
            yield f"{key} is missing"
    for key, value in row.items():
        if key in _READERS and value is not None:
            yield from (f"{key}: {fault}" for fault in _READERS[key](value))


def _each(values: object, fault: Callable[[str], str]) -> Iterator[str]:
    if not isinstance(values, list):
        yield "must be a list"
        return
    yield from (text for value in values if (text := fault(str(value))))


def _arch(text: str) -> str:
    return "" if _ARCH.fullmatch(text) or text.isdigit() else f"{text!r} is no architecture"


def _requirement(text: str) -> str:
    try:
        Requirement(text)
    except InvalidRequirement:
        return f"{text!r} is no requirement"
    return ""


def _version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion:
        return f"{text!r} is no version"
    return ""


def _conditions(value: object) -> Iterator[str]:
    if not isinstance(value, dict) or not value:
        yield "must name a component with its condition"
        return
    for name, condition in value.items():
        try:
            SpecifierSet(condition)
        except (InvalidSpecifier, TypeError):
            yield f"{name}: {condition!r} is no condition"


def _archs(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for archs in value.values():
            yield from _each(archs, _arch)
    else:
        yield from _each(value, _arch)


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[object], Iterator[str]]:
    def read(value: object) -> Iterator[str]:
        if not pattern.fullmatch(str(value)):
            yield f"{value!r} is no {what}"

    return read


_READERS: Final[dict[str, Callable[[object], Iterator[str]]]] = {
    "archs": _archs,
    "ptx": _archs,
    "requires": lambda value: _each(value, _requirement),
    "versions": lambda value: _each(value, _version) if isinstance(value, list) else _conditions({"versions": value}),
    "when": _conditions,
    "needs": _conditions,
    "cuda": _matching(_LEVEL, "CUDA release"),
    "glibc": _matching(_LEVEL, "glibc release"),
    "compute_capability": _matching(_LEVEL, "compute capability"),
    "code": _matching(_CODE, "code"),
    "severity": _matching(re.compile("|".join(_SEVERITIES)), "severity"),
    "platform": _matching(re.compile("|".join(_PLATFORMS)), "platform"),
}

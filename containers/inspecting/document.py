"""The document of an inspection: its form, checked before anything is read from it, since it comes out of the image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...compat.errors import OutsideError
from .known import why_absent

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION: Final = 1

_TEXT_LISTS: Final = ("setuid", "world_writable", "capabilities", "listening", "unreadable")
# Lists of tables, with the texts that each has; None is allowed where a name ends with a question mark.
_TABLES: Final = {
    "libraries": ("component", "soname", "path", "owner?", "version?", "error?"),
    "leftovers": ("path", "what"),
    "elf.unresolved": ("file", "needs", "beside?"),
    "elf.unmet": ("file", "library", "version"),
    "elf.damaged": ("file", "error"),
    "records.faults": ("file", "error"),
}
_RECORDS: Final = ("missing", "altered", "unrecorded")


def read_document(image: str, found: object) -> dict[str, Any]:
    """Return an inspection as it was written, with the reason for each library that may lack.

    Args:
        image: The image, for messages.
        found: What the inspector wrote.

    Raises:
        OutsideError: It is not of the form that this version writes.
    """
    if not isinstance(found, dict) or found.get("schema_version") != SCHEMA_VERSION or (fault := _fault(found)):
        where = fault if isinstance(found, dict) and found.get("schema_version") == SCHEMA_VERSION else "schema_version"
        raise OutsideError(
            f"the inspection of {image} is not of the form that it should be ({where}): its Python is not what it"
            " should be. Build the image again."
        )
    unresolved = [{**one, "optional": why_absent(one["file"], one["needs"])} for one in found["elf"]["unresolved"]]
    return {**found, "elf": {**found["elf"], "unresolved": unresolved}}


def _fault(found: dict[str, Any]) -> str:
    """Return the first key that is not as it should be; empty where all are."""
    flat = {**found, **_below("elf", found), **_below("records", found)}
    checks = {
        "python": isinstance(found.get("python"), str),
        "seconds": isinstance(found.get("seconds"), (int, float)),
        "elf.files": isinstance(flat.get("elf.files"), int),
        "packages": _is_mapping(found.get("packages"), str),
        "architectures": _is_mapping(found.get("architectures"), list)
        and all(map(_is_texts, found["architectures"].values())),
        "kernels": _is_mapping(found.get("kernels"), dict),
        "symbols": _is_mapping(found.get("symbols"), dict)
        and all(_has_texts(one, ("has?", "needs?", "by?")) for one in found["symbols"].values()),
        "cut": _is_mapping(found.get("cut"), int),
        **{name: _is_texts(flat.get(name)) for name in (*_TEXT_LISTS, *(f"records.{kind}" for kind in _RECORDS))},
        **{name: _is_table(flat.get(name), texts) for name, texts in _TABLES.items()},
    }
    return next((name for name, sound in checks.items() if not sound), "")


def _below(name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    table = found.get(name)
    return {f"{name}.{key}": value for key, value in table.items()} if isinstance(table, dict) else {}


def _is_mapping(found: object, kind: type) -> bool:
    return isinstance(found, dict) and all(isinstance(value, kind) for value in found.values())


def _is_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


def _is_table(found: object, texts: tuple[str, ...]) -> bool:
    return isinstance(found, list) and all(isinstance(one, dict) and _has_texts(one, texts) for one in found)


def _has_texts(table: Mapping[str, Any], texts: tuple[str, ...]) -> bool:
    return all(
        isinstance(table.get(text.rstrip("?")), str) or (text.endswith("?") and table.get(text.rstrip("?")) is None)
        for text in texts
    )

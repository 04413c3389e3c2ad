"""TOML documents, whole or cut: lock files and stack.toml."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from .locks import read_lock, read_package
from .patterns import Lazy
from .reading import MOST_TRIES
from .stack import is_stack, read_stack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .reading import Reading

_TABLE: Final = Lazy(r"\[{1,2}[\w.\-\"' ]+\]{1,2}\s*(?:#.*)?")
_PACKAGE: Final = Lazy(r"\[\[(?:package|packages)\]\]\s*(?:#.*)?")
_MOST_LINES: Final = 1000
_NAME: Final = Lazy(r"\s{0,8}\[?([a-z_]{1,40})\]?\s{0,8}(?:=|$)")
_KEY: Final = Lazy(r"[A-Za-z_][\w\-]*\s*=\s*[\"'\[{\d]")


def read_block(reading: Reading, lines: list[str], index: int) -> int:
    """Read a TOML document that starts at a line; return the index after it."""
    line = lines[index].strip()
    if (line[:1] != "[" and "=" not in line) or reading.tries >= MOST_TRIES or not _has_tables(reading, lines):
        return index
    if not _TABLE.fullmatch(line) and not _KEY.match(line):
        return index
    reading.tries += 1
    end = _end(lines, index)
    tables = _load("\n".join(lines[index:end]))
    if tables is not None:
        return end if read_lock(reading, tables) or _read_stack(reading, tables) else index
    return _read_cut(reading, lines, index, end)


def _has_tables(reading: Reading, lines: list[str]) -> bool:
    if reading.has_tables is None:
        reading.has_tables = any(line[:1] == "[" and _TABLE.fullmatch(line.strip()) for line in lines)
    return reading.has_tables


def _read_stack(reading: Reading, tables: dict[str, Any]) -> bool:
    found = tables.get("stack") if isinstance(tables.get("stack"), dict) else tables
    if not isinstance(found, dict) or not is_stack(found):
        return False
    read_stack(reading, found)
    return True


def _end(lines: list[str], index: int) -> int:
    """Return where a document ends: at a fence, or at the end of all lines."""
    for at in range(index, len(lines)):
        if lines[at].startswith(("```", "~~~")):
            return at
    return len(lines)


def _load(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _read_cut(reading: Reading, lines: list[str], index: int, end: int) -> int:
    """Read the packages of a lock that is cut or broken, one table at a time; return the index after what was read."""
    starts = [at for at in range(index, end) if _PACKAGE.fullmatch(lines[at])]
    if not starts:
        return end if _read_broken_stack(reading, lines[index : min(end, index + _MOST_LINES)]) else index
    bad: list[int] = []
    for start, after in zip(starts, [*starts[1:], end], strict=True):
        tables = _load(_own_part(lines, start, after))
        if tables is None:
            bad.append(start)
        else:
            _read_entries(reading, tables)
    at = bad[-1] if bad else index
    reading.skip(f"{reading.name}: the TOML document is cut or broken in the table at line {at + 1}")
    return end


def _read_broken_stack(reading: Reading, lines: list[str]) -> bool:
    """Read a stack.toml of which some lines are none, line by line; return whether it is a stack's."""
    if not is_stack(dict.fromkeys(_top_names(lines))):
        return False
    tables: dict[str, Any] = {}
    section, bad = tables, []
    for line in lines:
        head = _load(line) if line.strip().startswith("[") else None
        if head is not None and len(head) == 1:
            found = tables.setdefault(next(iter(head)), {})
            section = found if isinstance(found, dict) else {}
            continue
        pair = _load(line)
        if pair is None or any(key in section for key in pair):
            bad.append(line)
        else:
            section.update(pair)
    if not is_stack(tables):
        return False
    read_stack(reading, tables)
    reading.skip(f"{reading.name}: the TOML document is broken; these lines of it are not used")
    for line in bad:
        reading.skip(f"{reading.name}: {line.strip()}")
    return True


def _top_names(lines: list[str]) -> Iterator[str]:
    """Yield the names of a document's own keys and of its tables, without those inside tables."""
    inside = False
    for line in lines:
        head = line.lstrip().startswith("[")
        match = _NAME.match(line)
        inside = inside or head
        if match is not None and (head or not inside):
            yield match[1]


def _own_part(lines: list[str], start: int, after: int) -> str:
    """Return a package's own keys; those of a table that is cut end before the first that is not whole."""
    own = lines[start:after]
    text = "\n".join(own)
    if after != len(lines) or _load(text) is not None:
        return text
    simple = [line for line in own[1:] if re.fullmatch(r"(?:name|version|marker)\s*=\s*\"[^\"]*\"", line)]
    return "\n".join([own[0], *simple])


def _read_entries(reading: Reading, tables: dict[str, Any]) -> None:
    for key in ("package", "packages"):
        entries = tables.get(key)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                read_package(reading, entry)

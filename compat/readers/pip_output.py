"""What pip prints: its list as a table, `pip show`, and its reports of installs and conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .names import package_name
from .patterns import Lazy

if TYPE_CHECKING:
    from ..gather import Gathered
    from .markers import Surroundings
    from .reading import Reading

_HEADER: Final = Lazy(r"\s*Package\s+Version(?:\s+[A-Z][\w ]*)?\s*")
_ROW: Final = Lazy(r"\s*([A-Za-z0-9][\w.\-]*)\s+(\d[\w.+!\-]*)(?:\s+\S.*)?")
_RULE: Final = Lazy(r"[\s-]+")
_NAME: Final = Lazy(r"Name: ([A-Za-z0-9][\w.\-]*)")
_VERSION: Final = Lazy(r"Version: (\S+)")
_SHOWN: Final = Lazy(
    r"(?:Name|Version|Summary|Home-page|Author|Author-email|License|License-Expression|Location|Requires|Required-by|"
    r"Editable project location):"
)
_INSTALLED: Final = Lazy(r"Successfully installed ((?:[A-Za-z0-9][\w.\-]*-\d[\w.+!]*\s*)+)")
_INSTALLED_ONE: Final = Lazy(r"([A-Za-z0-9][\w.\-]*?)-(\d[\w.+!]*)(?=\s|$)")
_SATISFIED: Final = Lazy(r"Requirement already satisfied: ([A-Za-z0-9][\w.\-]*)\S* in .*\((\d[\w.+!]*)\)$")
_CONFLICT: Final = Lazy(
    r"(?:ERROR:\s*)?([A-Za-z0-9][\w.\-]*) (\d[\w.+!]*) (?:requires|"
    r"has requirement) ([A-Za-z0-9][\w.\-]*)([^\s,;]*(?:,\s?[<>=!~][^\s,;]*)*)(?:;[^,]*)?, "
    r"but you(?:'ll)? have \3 (\d[\w.+!]*)"
)
_MISSING: Final = Lazy(
    r"(?:ERROR:\s*)?([A-Za-z0-9][\w.\-]*) (\d[\w.+!]*) (?:requires|"
    r"has requirement) ([A-Za-z0-9][\w.\-]*)[^,]*, which is not installed"
)
_FETCHED: Final = Lazy(r"(?:Downloading|Using cached) (?:\S*/)?([A-Za-z0-9][\w.]*)-(\d[\w.+]*)-\S*\.whl\b")
_FIRST: Final = frozenset("SRECDUILBPAFWG[")  # of pip's reports
_PROGRESS: Final = Lazy(
    r"(?:Collecting|Downloading|Using cached|Installing collected packages|Looking in indexes|Looking in links|"
    r"Building wheel|"
    r"Created wheel|Stored in directory|Preparing metadata|Attempting uninstall|Found existing installation|"
    r"Uninstalling|"
    r"Successfully uninstalled|Successfully built|Requirement already satisfied|WARNING: You are using pip|"
    r"ERROR: pip's dependency resolver|"
    r"Resolved \d|Prepared \d|Installed \d|Installing build dependencies|Getting requirements to build|Cloning|"
    r"Resolved https|Running setup\.py|Building wheels|Downloaded|Defaulting to user)\b|\[notice\]"
)


def read_block(reading: Reading, lines: list[str], index: int) -> int:
    """Read a table of `pip list` or an entry of `pip show` that starts at a line; return the index after it."""
    line = lines[index]
    if line.startswith("Name: ") and index + 1 < len(lines):
        return _read_shown(reading, lines, index)
    if "Package" in line and _HEADER.fullmatch(line):
        return _read_table(reading, lines, index)
    return index


def read_line(reading: Reading, line: str, where: str) -> bool:
    """Read a line of pip's reports; return whether it is one."""
    if line[:1] not in _FIRST and " requires " not in line and " has requirement " not in line:
        return False
    if match := _INSTALLED.match(line):
        for name, version in _INSTALLED_ONE.groups(match[1]):
            _add(reading, name, version, where)
        return True
    if match := _SATISFIED.match(line):
        _add(reading, match[1], match[2], where)
        return True
    if match := _CONFLICT.match(line):
        _add(reading, match[1], match[2], where)
        _add(reading, match[3], match[5], where)
        reading.gathered.required.append(package_name(match[3]) + match[4].replace(" ", ""))
        return True
    return _read_rest(reading, line, where)


def _read_rest(reading: Reading, line: str, where: str) -> bool:
    if match := _MISSING.match(line):
        _add(reading, match[1], match[2], where)
        reading.skip(line)
        return True
    if match := _FETCHED.match(line):
        reading.later.append(_Fetched(match[1], match[2], where).settle)
        return True
    return _PROGRESS.match(line) is not None


class _Fetched:
    """A wheel that pip fetched: installed for all that is known, where nothing says which release is."""

    def __init__(self, name: str, version: str, where: str) -> None:
        self._name = package_name(name)
        self._version = version
        self._where = where

    def settle(self, gathered: Gathered, _surroundings: Surroundings) -> None:
        claims = gathered.claims.get(self._name, ())
        if all(claim.text == "*" for claim in claims):
            gathered.add_package(self._name, self._version, self._where)
        elif any(claim.text != self._version for claim in claims):
            gathered.skip(f"{self._where}: {self._name} {self._version} was fetched")


def _add(reading: Reading, name: str, version: str, where: str) -> None:
    reading.reports = True
    reading.gathered.origins.add("pip")
    reading.add_package(name, version, where)


def _read_table(reading: Reading, lines: list[str], index: int) -> int:
    index += 1
    while index < len(lines):
        if (row := _ROW.fullmatch(lines[index])) is not None:
            _add(reading, row[1], row[2], reading.where(index))
        elif not _RULE.fullmatch(lines[index]):
            break
        index += 1
    return index


def _read_shown(reading: Reading, lines: list[str], index: int) -> int:
    name, version = _NAME.fullmatch(lines[index]), _VERSION.fullmatch(lines[index + 1])
    if name is None or version is None:
        return index
    _add(reading, name[1], version[1], reading.where(index + 1))
    index += 2
    while index < len(lines) and _SHOWN.match(lines[index]):
        index += 1
    return index

"""Lock files: pylock.toml, uv.lock, poetry.lock and Pipfile.lock."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .markers import Choice
from .names import package_name
from .requirement import Requirement, add_requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..gather import Gathered
    from .markers import Surroundings
    from .reading import Reading

_MOST: Final = 50_000


def read_lock(reading: Reading, tables: dict[str, Any]) -> bool:
    """Read the tables of a lock file, told by their keys; return whether they are one."""
    if isinstance(tables.get("packages"), list) and "lock-version" in tables:
        _read_pylock(reading, tables)
    elif isinstance(tables.get("package"), list):
        _read_packages(reading, tables)
    elif isinstance(tables.get("_meta"), dict) and isinstance(tables.get("default"), dict):
        _read_pipfile(reading, tables)
    else:
        return False
    return True


def read_package(reading: Reading, entry: dict[str, Any]) -> None:
    """Note one package of a lock, under its marker if it has one."""
    name, version = entry.get("name"), entry.get("version", "*")
    if not isinstance(name, str) or not isinstance(version, str):
        return
    marker = _marker(entry)
    add_requirement(reading, Requirement(name, version, marker=marker), f"{reading.name}: {name}")


def _read_pylock(reading: Reading, tables: dict[str, Any]) -> None:
    for entry in _tables(tables["packages"]):
        read_package(reading, entry)


def _read_packages(reading: Reading, tables: dict[str, Any]) -> None:
    entries = list(_tables(tables["package"]))
    roots = [entry for entry in entries if _is_root(entry)]
    _note_python(reading, tables)
    if roots:
        reading.gathered.origins.add("pip")
        reading.later.append(_Walk(entries, roots, reading.name).settle)
        return
    for entry in entries:
        read_package(reading, entry)


def _note_python(reading: Reading, tables: dict[str, Any]) -> None:
    """A lock's range of Pythons says what it was made for, not what is there."""
    wanted = tables.get("requires-python") or _dict(tables.get("metadata")).get("python-versions")
    if isinstance(wanted, str):
        reading.skip(f"{reading.name}: made for Python {wanted}")


def _read_pipfile(reading: Reading, tables: dict[str, Any]) -> None:
    version = _dict(_dict(tables["_meta"]).get("requires"))
    for key in ("python_full_version", "python_version"):
        if isinstance(version.get(key), str):
            reading.add("python", version[key], f"{reading.name}: _meta.requires.{key}")
            break
    for name, entry in tables["default"].items():
        pinned = _dict(entry).get("version", "*")
        if isinstance(pinned, str):
            marker = _dict(entry).get("markers", "")
            found = Requirement(name, pinned.removeprefix("=="), marker=marker if isinstance(marker, str) else "")
            add_requirement(reading, found, f"{reading.name}: default.{name}")


def _marker(entry: dict[str, Any]) -> str:
    """Return an entry's marker; one that has several holds where any of them does."""
    marker = entry.get("marker") or entry.get("markers") or entry.get("resolution-markers")
    if isinstance(marker, str):
        return marker
    if isinstance(marker, list) and all(isinstance(part, str) for part in marker):
        return " or ".join(f"({part})" for part in marker)
    return ""


def _is_root(entry: dict[str, Any]) -> bool:
    source = _dict(entry.get("source"))
    return any(kind in source for kind in ("virtual", "editable"))


def _tables(value: object) -> Iterator[dict[str, Any]]:
    for entry in value[:_MOST] if isinstance(value, list) else ():
        if isinstance(entry, dict):
            yield entry


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _add(gathered: Gathered, name: str, version: str, where: str) -> None:
    gathered.add_package(name, version, where)


class _Walk:
    """From the project of a uv.lock to all that it installs, over the dependencies whose markers hold."""

    def __init__(self, entries: list[dict[str, Any]], roots: list[dict[str, Any]], name: str) -> None:
        self._entries: dict[str, list[dict[str, Any]]] = {}
        for entry in entries:
            self._entries.setdefault(package_name(str(entry.get("name", ""))), []).append(entry)
        self._roots = roots
        self._name = name

    def settle(self, gathered: Gathered, surroundings: Surroundings) -> None:
        """Note the packages that are installed where the description says."""
        waiting, seen = list(self._roots), {id(root) for root in self._roots}
        while waiting:
            entry = waiting.pop()
            name, version = entry.get("name"), entry.get("version", "*")
            if not _is_root(entry) and isinstance(name, str) and isinstance(version, str):
                self._note(gathered, surroundings, package_name(name), version)
            for other in self._reached(entry, surroundings):
                if id(other) not in seen:
                    seen.add(id(other))
                    waiting.append(other)

    def _note(self, gathered: Gathered, surroundings: Surroundings, name: str, version: str) -> None:
        where = f"{self._name}: {name}"
        if len(self._entries.get(name, ())) == 1:
            gathered.add_package(name, version, where)
        else:
            note = partial(_add, name=name, version=version, where=where)
            surroundings.choose_later(name, Choice(version, where, note))

    def _reached(self, entry: dict[str, Any], surroundings: Surroundings) -> Iterator[dict[str, Any]]:
        for dependency in self._dependencies(entry):
            marker = dependency.get("marker", "")
            if isinstance(marker, str) and marker and surroundings.decide(marker) is False:
                continue
            yield from self._find(dependency, surroundings)

    @staticmethod
    def _dependencies(entry: dict[str, Any]) -> Iterable[dict[str, Any]]:
        yield from _tables(entry.get("dependencies"))
        if not _is_root(entry):
            for extra in _dict(entry.get("optional-dependencies")).values():
                yield from _tables(extra)

    def _find(self, dependency: dict[str, Any], surroundings: Surroundings) -> Iterator[dict[str, Any]]:
        name, version = dependency.get("name"), dependency.get("version")
        for entry in self._entries.get(package_name(name), ()) if isinstance(name, str) else ():
            marker = _marker(entry)
            if version not in {None, entry.get("version")}:
                continue
            if not marker or surroundings.decide(marker) is not False:
                yield entry

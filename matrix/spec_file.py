"""Reading a spec file, with settings from the command line put over it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..backends.reading import read_spec
from ..compat.errors import Fault, InputError
from .compiling import with_file
from .toml_file import read_toml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..backends.spec import Spec

_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Setting:
    """One value from the command line: the text as given, its key path and the value."""

    text: str
    key: str
    value: object

    def speaks_of(self, where: str, given: dict[str, Any]) -> bool:
        """Say whether a fault at a key path comes from this setting and not from the file.

        Args:
            where: The fault's key path.
            given: The tables of the file alone.
        """
        return re.split(r"[.\[]", where)[: self.key.count(".") + 1] == self.key.split(".") or (
            where == self.key.split(".")[0] and where not in given
        )


def load_spec(path: Path, settings: Sequence[str] = ()) -> Spec:
    """Read a spec from its TOML file.

    Args:
        path: The file; its stem is the spec's name where the file gives none.
        settings: Values that take the place of the file's, such as `train.compile=false`. A value is written as in
            TOML; a bare word stands for text.

    Raises:
        InputError: With every fault of the file and of the settings; or its model's file is missing or another one.
    """
    tables = read_toml(path)
    given = dict(tables)
    faults: list[Fault] = []
    taken = [setting for text in settings for setting in _taken(text, faults)]
    for setting in taken:
        faults.extend(_put(tables, setting))
    try:
        spec = read_spec(tables, str(path), path.stem)
    except InputError as error:
        faults.extend(_attributed(fault, taken, given) for fault in error.faults)
    else:
        if not faults:
            return with_file(spec, path)
    raise InputError(str(path), faults)


def parse_setting(text: str) -> Setting:
    """Read a setting such as `optimizer.lr=1e-2`.

    Raises:
        InputError: It is no key path, equals sign and value.
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not _KEY.fullmatch(key):
        raise InputError(
            _source(text), [Fault("", "is no setting: write table.key=value, such as train.compile=false")]
        )
    return Setting(text, key, _value(text, value))


def _taken(text: str, faults: list[Fault]) -> list[Setting]:
    try:
        return [parse_setting(text)]
    except InputError as error:
        faults.extend(replace(fault, source=error.source) for fault in error.faults)
        return []


def _value(text: str, value: str) -> object:
    try:
        parsed = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        parsed = {}
    if list(parsed) == ["value"] and "\n" not in value:
        return parsed["value"]
    if _WORD.fullmatch(value):
        return value
    what = f'the value {value!r:.80} cannot be read: write it as in TOML, such as 0.1, true, [0.9, 0.95] or "text"'
    raise InputError(_source(text), [Fault("", what)])


def _put(tables: dict[str, Any], setting: Setting) -> list[Fault]:
    """Set a value, making the tables on the way; a fault where something else is in the way."""
    *way, last = setting.key.split(".")
    for index, step in enumerate(way):
        tables = tables.setdefault(step, {})
        if not isinstance(tables, dict):
            holder = ".".join(way[: index + 1])
            what = f"{holder} is no table, so that nothing can be set in it: mend it in the file"
            return [Fault(setting.key, what, _source(setting.text))]
    tables[last] = setting.value
    return []


def _attributed(fault: Fault, settings: list[Setting], given: dict[str, Any]) -> Fault:
    """Return the fault under the last setting that it comes from, or as it is."""
    sources = [_source(setting.text) for setting in settings if setting.speaks_of(fault.where, given)]
    return replace(fault, source=sources[-1]) if sources else fault


def _source(text: str) -> str:
    return f"--set {text!r:.80}" if re.search(r"\s", text) or not text.isprintable() else f"--set {text:.80}"

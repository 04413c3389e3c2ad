"""Reading the tables of an input key by key, with every fault collected.

A reader is a function from a raw value to the value wanted; it raises `Refusal` with the reason and the mend. `Table`
applies readers to keys and turns refusals into faults, so that one pass over an input finds all that is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

from .errors import Fault, did_you_mean
from .readers import Refusal, name_of, show, slug

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

Path = tuple[Union[str, int], ...]

MOST_UNKNOWN = 50
_BARE = re.compile(r"[A-Za-z0-9_-]{1,60}")


def key_path(path: Path) -> str:
    """Return a path in TOML's notation, such as `optimizer.betas[1]`; an unusual key is put in quotes."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in path]
    return "".join(parts).removeprefix(".")


def _key(step: str) -> str:
    return step if _BARE.fullmatch(step) else json.dumps(step[:60])


class Faults:
    """The faults of one input while it is being read."""

    def __init__(self) -> None:
        self._found: list[tuple[Path, str]] = []

    def add(self, path: Path, what: str) -> None:
        """Take note of a fault at a path."""
        self._found.append((path, what))

    def touch(self, path: Path) -> bool:
        """Say whether a fault was found at a path, below it, or in what encloses it."""
        return any(found[: len(path)] == path[: len(found)] for found, _ in self._found)

    def listed(self, content: object) -> list[Fault]:
        """Return the faults in the order of the input; what is missing from a table comes at that table's end."""
        ranked = sorted(self._found, key=lambda entry: _rank(entry[0], content))
        return [Fault(key_path(path), what) for path, what in ranked]


def _rank(path: Path, content: object) -> list[int]:
    ranks = []
    for step in path:
        keys = list(content) if isinstance(content, Mapping) else []
        if isinstance(step, int):
            ranks.append(step)
            content = content[step] if isinstance(content, (list, tuple)) and step < len(content) else None
        else:
            ranks.append(keys.index(step) if step in keys else len(keys))
            content = content.get(step) if isinstance(content, Mapping) else None
    return ranks


@dataclass(frozen=True)
class Table:
    """One table of an input.

    Attributes:
        content: The raw keys and values.
        path: Where the table lies in the input.
        faults: Where faults go.
        asked: The keys that were read so far.
    """

    content: Mapping[str, object]
    path: Path
    faults: Faults
    asked: list[str]

    @classmethod
    def root(cls, content: Mapping[str, object], faults: Faults) -> Table:
        """Return the outermost table of an input."""
        return cls({str(key): value for key, value in content.items()}, (), faults, [])

    def fault(self, key: str, what: str) -> None:
        """Take note of a fault at a key."""
        self.faults.add((*self.path, key), what)

    def refuse(self, what: str) -> None:
        """Take note of a fault of the table as a whole."""
        self.faults.add(self.path, what)

    def sound(self, *keys: str) -> bool:
        """Say whether no fault was found that touches these keys."""
        return not any(self.faults.touch((*self.path, key)) for key in keys)

    def one(self, key: str, default: T, read: Callable[[object], T]) -> T:
        """Return a key's value; the default where the key is left out or faulty."""
        self.asked.append(key)
        found = self._try((key,), self.content[key], read) if key in self.content else ()
        return found[0] if found else default

    def many(
        self, key: str, default: tuple[T, ...], read: Callable[[object], T], lengths: tuple[int, int]
    ) -> tuple[T, ...]:
        """Return the sound entries of a key's list.

        Args:
            key: The key.
            default: What stands for a key that is left out or holds no list of a fitting length.
            read: The reader of an entry.
            lengths: The smallest and the largest number of entries.
        """
        self.asked.append(key)
        if key not in self.content:
            return default
        entries = self.content[key]
        if not isinstance(entries, (list, tuple)):
            self.fault(key, f"must be a list, not {show(entries)}{_in_brackets(entries)}")
            return default
        least, most = lengths
        if not least <= len(entries) <= most:
            allowed = f"exactly {least}" if least == most else f"{least} to {most}"
            found = f"not {len(entries)}" if entries else "and it is empty"
            self.fault(key, f"must have {allowed} entries, {found}")
            return default
        return tuple(value for index, entry in enumerate(entries) for value in self._try((key, index), entry, read))

    def table(self, key: str) -> Table:
        """Return the table under a key; an empty one where the key is left out or faulty."""
        self.asked.append(key)
        content = self.content.get(key, {})
        if not isinstance(content, Mapping):
            self.fault(key, f"must be a table, not {show(content)}: write [{key}] and its keys on the lines below")
            content = {}
        return self._below((key,), content)

    def tables(self, key: str, most: int) -> list[Table]:
        """Return the tables of the list under a key; none where the key is left out or faulty."""
        self.asked.append(key)
        entries = self.content.get(key, [])
        if not isinstance(entries, (list, tuple)) or not all(isinstance(entry, Mapping) for entry in entries):
            self.fault(key, f"must be a list of tables: write [[{key}]] and its keys on the lines below")
            return []
        if len(entries) > most:
            self.fault(key, f"must have at most {most} tables, not {len(entries)}")
            return []
        return [self._below((key, index), entry) for index, entry in enumerate(entries)]

    def finish(self, elsewhere: Mapping[str, str] | None = None) -> None:
        """Report every key that was not read.

        Args:
            elsewhere: What to say of keys that have their place somewhere else.
        """
        unknown = [key for key in self.content if key not in self.asked]
        for key in unknown[:MOST_UNKNOWN]:
            known = (elsewhere or {}).get(key)
            self.fault(key, known or f"unknown key; {did_you_mean(key, self.asked)}")
        if len(unknown) > MOST_UNKNOWN:
            self.fault(unknown[MOST_UNKNOWN], f"unknown key, and so are {len(unknown) - MOST_UNKNOWN - 1} more")

    def _below(self, steps: Path, content: Mapping[str, object]) -> Table:
        return Table({str(key): value for key, value in content.items()}, (*self.path, *steps), self.faults, [])

    def _try(self, steps: Path, value: object, read: Callable[[object], T]) -> tuple[T, ...]:
        try:
            return (read(value),)
        except Refusal as refusal:
            self.faults.add((*self.path, *steps), str(refusal))
            return ()


def read_name(top: Table, stem: str) -> str:
    """Return an input's own `name`, or the stem of its file.

    Args:
        top: The input's outermost table.
        stem: The file's name without its ending.
    """
    given = top.one("name", stem, name_of)
    if "name" not in top.content and slug(stem) != stem:
        top.fault(
            "name", f"missing, and the file's stem {show(stem)} cannot be one: add name = {json.dumps(slug(stem))}"
        )
    return given


def _in_brackets(value: object) -> str:
    plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return f": put it in brackets, [{show(value)}]" if plain else ""

"""Tables of facts, one for each subject, read when they are first asked for.

Reading trusts the files that are shipped; `facts.faults.find_faults` looks at every row of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER: Final = Path(__file__).parents[1] / "data"

CONFIDENCES: Final = ("documented", "measured", "derived", "reported")


@dataclass(frozen=True, slots=True)
class Row:
    """One fact.

    Attributes:
        table: The subject's table, such as `torch`.
        values: The fact's fields.
        sources: Titles of where it comes from.
        date: When the source was read, as YYYY-MM-DD.
        confidence: `documented` by its maker, `measured` on a binary or a run, `derived` from other rows, or
            `reported` in public by somebody.
    """

    table: str
    values: Mapping[str, Any]
    sources: tuple[str, ...]
    date: str
    confidence: str

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - a field's type is its table's
        return self.values[key]

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - a field's type is its table's
        """Return a field, or a default where the row has none."""
        return self.values.get(key, default)

    @property
    def source(self) -> str:
        """Return the sources with their date and confidence, for a reader."""
        return f"{'; '.join(self.sources)} ({self.confidence}, {self.date})"


@dataclass(frozen=True)
class Table:
    """The facts of one subject."""

    name: str
    subject: str
    rows: tuple[Row, ...]


@lru_cache(maxsize=64)
def load_table(name: str) -> Table:
    """Return a subject's facts.

    Raises:
        KeyError: There is no such table; `table_names` lists them.
    """
    if name not in table_names():
        raise KeyError(name)
    document = json.loads(read_text(name))
    sources: dict[str, dict[str, str]] = document["sources"]
    return Table(name, document["subject"], tuple(_make_row(name, row, sources) for row in document["rows"]))


@lru_cache(maxsize=1)
def table_names() -> tuple[str, ...]:
    """Return the names of all tables, sorted."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))


def read_text(name: str) -> str:
    """Return a table's file."""
    return (_FOLDER / f"{name}.json").read_text(encoding="utf-8")


def _make_row(table: str, row: dict[str, Any], sources: Mapping[str, Mapping[str, str]]) -> Row:
    named = row.pop("source")
    keys = [named] if isinstance(named, str) else named
    titles = tuple(sources[key]["title"] for key in keys)
    return Row(table, row, titles, row.pop("date", None) or sources[keys[0]]["date"], row.pop("confidence"))

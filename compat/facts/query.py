"""Find facts by subject and version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..errors import Fault, InputError, did_you_mean
from ..names import normalise
from .table import Row, load_table, table_names

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSIONS: Final = ("version", "cuda", "torch", "tensorflow", "jax", "branch", "major", "nccl", "compute_capability")


def subjects() -> list[str]:
    """Return what `facts show` can be asked for: tables, and packages with declared requirements."""
    packages = {str(row["package"]) for row in load_table("packages").rows}
    return sorted({*table_names(), *packages})


def find_facts(subject: str, version: str = "") -> list[Row]:
    """Return the facts of a subject.

    Args:
        subject: A table such as `torch` or `drivers`, a package, or a GPU's name.
        version: A release or the beginning of one, such as `2.15`; empty for all.

    Raises:
        InputError: There is no such subject, or nothing of that version.
    """
    found = list(_of_subject(subject))
    if not found:
        raise InputError(
            "facts", [Fault("SUBJECT", f"{subject!r:.80} has no facts: {did_you_mean(subject, subjects())}")]
        )
    matching = [row for row in found if not version or _speaks_of(row, version)]
    if not matching:
        raise InputError(
            "facts",
            [Fault("VERSION", f"there is no fact on {subject} {version!r:.80}; leave the version out to see all")],
        )
    return matching


def _of_subject(subject: str) -> Iterator[Row]:
    name = normalise(subject)
    if name in table_names() or subject in table_names():
        yield from load_table(subject if subject in table_names() else name).rows
    yield from (row for row in load_table("packages").rows if row["package"] == name and name != "packages")
    yield from (row for row in load_table("conflicts").rows if name in {*row["when"], *(row.get("needs") or {})})
    yield from (
        row for row in load_table("gpus").rows if subject.lower() in str(row["name"]).lower() and name != "gpus"
    )


def _speaks_of(row: Row, version: str) -> bool:
    texts = [str(row[key]) for key in _VERSIONS if row.get(key) is not None]
    texts += [str(release) for release in row.get("versions") or () if isinstance(row.get("versions"), list)]
    return any(text == version or text.startswith((f"{version}.", f"{version}+")) for text in texts)


def as_document(row: Row) -> dict[str, Any]:
    """Return a fact for `facts show --json`."""
    return {
        "table": row.table,
        **row.values,
        "source": list(row.sources),
        "date": row.date,
        "confidence": row.confidence,
    }

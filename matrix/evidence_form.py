"""The form of a worker's evidence, checked before anything is made of it: what an image runs is not ours."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

from ..backends.npz import unpack
from ..compat.errors import StackproofError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_TEXT: Final = "a text"
_TABLE: Final = "a table"
_NUMBER: Final = "a number that is not negative"
_CURVE: Final = "a list of numbers"
_DOCUMENT: Final = {
    "target": _TEXT,
    "program_digest": _TEXT,
    "data_digest": _TEXT,
    "versions": _TABLE,
    "platform": _TABLE,
    "seconds": _TABLE,
    "peak_memory_bytes": _NUMBER,
}
_RUN: Final = {
    "name": _TEXT,
    "parameters_file": _TEXT,
    "parameters_digest": _TEXT,
    "mode": _TEXT,
    "why": _TEXT,
    "seconds": _TABLE,
    "losses": _CURVE,
    "grad_norms": _CURVE,
}
_PLATFORM: Final = {"device": _TEXT, "deterministic_why": _TEXT, "modules": _TABLE}


class EvidenceError(StackproofError):
    """A worker left evidence that cannot be read."""

    exit_code = 1


@dataclass(frozen=True)
class Evidence:
    """A worker's evidence of sound form.

    Attributes:
        document: Its tables.
        parameters: The content of each run's file of final parameters, in the order of its runs.
        states: The content of each run's file of final state; None where a program has none.
        averages: The content of each run's file of moving averages; None where a spec asks for none.
    """

    document: dict[str, Any]
    parameters: tuple[bytes, ...]
    states: tuple[bytes | None, ...] = ()
    averages: tuple[bytes | None, ...] = ()


def read_evidence(path: Path, names: Collection[str]) -> Evidence:
    """Read what a worker wrote.

    Args:
        path: Its evidence; final parameters lie in the folder of that name without suffix.
        names: The runs that it was asked for.

    Raises:
        EvidenceError: It is of another form, lacks a run, or names a file that is not its own.
        OSError: The disk refuses.
    """
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise _refusal("it is no JSON") from error
    _require(document, _DOCUMENT, "")
    _require(document["platform"], _PLATFORM, "platform.")
    runs = document.get("runs")
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise _refusal("`runs` is no list of tables")
    if [run.get("name") for run in runs] != list(names):
        raise _refusal("`runs` are not those that it was asked for")
    for run in runs:
        _require(run, _RUN, "runs[].")
    folder = path.with_suffix("")
    return Evidence(
        document,
        tuple(_read_tensors(run, "parameters_file", folder) for run in runs),
        *(
            tuple(_read_tensors(run, key, folder) if key in run else None for run in runs)
            for key in ("state_file", "averages_file")
        ),
    )


def _read_tensors(run: dict[str, Any], key: str, folder: Path) -> bytes:
    name = run[key]
    if not isinstance(name, str) or PurePath(name).name != name or not _is_own(folder / name):
        raise _refusal(f"`runs[].{key}` is no file that it wrote")
    file = folder / name
    content: bytes = file.read_bytes()
    try:
        sound = all(value.dtype.kind in "fiub" for value in unpack(content).values())
    except ValueError as error:
        raise _refusal(f"{name} holds no arrays") from error
    if not sound:
        raise _refusal(f"{name} holds arrays of no numbers")
    return content


def _is_own(file: Path) -> bool:
    return file.is_file() and not file.is_symlink()


def _require(tables: object, form: dict[str, str], where: str) -> None:
    if not isinstance(tables, dict):
        raise _refusal(f"`{where.rstrip('.') or 'all of it'}` is no table")
    for key, kind in form.items():
        if not _KINDS[kind](tables.get(key)):
            raise _refusal(f"`{where}{key}` is not {kind}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _is_curve(value: object) -> bool:
    return isinstance(value, list) and all(
        entry is None or (isinstance(entry, int | float) and not isinstance(entry, bool)) for entry in value
    )


_KINDS: Final[dict[str, Callable[[object], bool]]] = {
    _TEXT: lambda value: isinstance(value, str),
    _TABLE: lambda value: isinstance(value, dict),
    _NUMBER: _is_number,
    _CURVE: _is_curve,
}


def _refusal(what: str) -> EvidenceError:
    return EvidenceError(f"the worker left evidence that cannot be read: {what}")

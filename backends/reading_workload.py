"""Reads a spec that has a command of its own, `[workload]`, in place of model, data, optimizer and schedule."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from .errors import InputError
from .readers import Bounds, Refusal, distinct, integer, number, show, text
from .recipe import Optimizer, Schedule, Train
from .spec import Data, Mlp, Spec
from .spec_workload import Workload
from .tables import Faults, Table, read_name

if TYPE_CHECKING:
    from collections.abc import Mapping

REPLACED = ("model", "data", "optimizer", "schedule")
_COUNTED = ("steps", "seed")
_MOST_WORDS, _MOST_FILES, _LONGEST_WORD = 1000, 1000, 32768
_LONGEST_SPLIT = 100
_LONGEST_RUN = 30 * 24 * 3600
_LIMIT = number(Bounds(above=0, most=_LONGEST_RUN))
_STEPS = integer(Bounds(least=1, most=1_000_000))
_SEED = integer(Bounds(least=0, most=2**32 - 1))
_TOLERANCE = number(Bounds(least=0, most=1))
_DIGEST = re.compile(r"[0-9a-f]{64}")


def read_workload_spec(tables: Mapping[str, object], source: str, name: str) -> Spec:
    """Make a spec of tables that have a `workload`.

    Args:
        tables: The content of the spec file.
        source: The name of the file, as the user gave it.
        name: The spec's name where the tables give none.

    Returns:
        The spec; its model, data, optimizer and schedule are defaults that stand for nothing.

    Raises:
        InputError: With every fault, in the order of the file.
    """
    faults = Faults()
    top = Table.root(tables, faults)
    given, workload, train = read_name(top, name), _read_workload(top), _read_train(top)
    top.finish({**_replaced(), **_homes()})
    found = faults.listed(tables)
    if found:
        raise InputError(source, found)
    return Spec(given, Mlp(), Data(), Optimizer(), Schedule(), train, workload=workload)


def _replaced() -> dict[str, str]:
    what = "does not count beside [workload], whose command has its own: remove one of the two"
    return dict.fromkeys(REPLACED, what)


def _homes() -> dict[str, str]:
    of_workload = {field.name: "belongs in [workload]" for field in fields(Workload)}
    return {**of_workload, **dict.fromkeys(_COUNTED, "belongs in [train]")}


def _read_workload(top: Table) -> Workload:
    table = top.table("workload")
    workload = Workload(
        command=_read_command(table),
        files=table.many("files", Workload.files, distinct(_path, PurePosixPath), (0, _MOST_FILES)),
        digest=table.one("digest", Workload.digest, _digest),
        seconds=table.one("seconds", Workload.seconds, _LIMIT),
        silence=table.one("silence", Workload.silence, _LIMIT),
        tolerance=table.one("tolerance", Workload.tolerance, _TOLERANCE),
        reference=table.one("reference", Workload.reference, _reference),
    )
    _check_silence(table, workload)
    table.finish(dict.fromkeys(_COUNTED, "belongs in [train]"))
    return workload


def _read_command(table: Table) -> tuple[str, ...]:
    if "command" not in table.content:
        if not table.faults.touch(table.path):
            table.fault("command", 'missing: name the command, such as command = ["python", "train.py"]')
        return ()
    given = table.content["command"]
    if isinstance(given, str):
        table.asked.append("command")
        table.fault("command", f"must be a list of words, for no shell reads it: write {_split(given)}")
        return ()
    words = table.many("command", Workload.command, _word, (1, _MOST_WORDS))
    if len(words) == 1 and len(words[0].split()) > 1 and table.sound("command"):
        table.fault("command", f"must have each word apart, for no shell reads it: write {_split(words[0])}")
    return words


def _split(given: str) -> str:
    words = given.split()
    if not words or len(given) > _LONGEST_SPLIT or re.search(r"[\"'\\$|&;<>*]", given):
        return '["python", "train.py"]'
    return f"[{', '.join(show(word) for word in words)}]"


def _check_silence(table: Table, workload: Workload) -> None:
    if "silence" in table.content and table.sound("silence", "seconds") and workload.silence > workload.seconds:
        what = f"{workload.silence:g} s can never pass, for the command is ended after seconds = {workload.seconds:g}"
        table.fault("silence", f"{what}: write less, or raise seconds")


def _read_train(top: Table) -> Train:
    table = top.table("train")
    train = Train(steps=table.one("steps", Train.steps, _STEPS), seed=table.one("seed", Train.seed, _SEED))
    ignored = "does not count beside [workload]: the command decides it; only steps and seed are handed to it"
    others = {field.name: ignored for field in fields(Train) if field.name not in _COUNTED}
    table.finish({**others, **{field.name: "belongs in [workload]" for field in fields(Workload)}})
    return train


def _word(value: object) -> str:
    given = text(value)
    if "\0" in given or len(given) > _LONGEST_WORD:
        raise Refusal(f"must be a word of at most {_LONGEST_WORD} characters without NUL, not {show(given)}")
    return given


def _path(value: object) -> str:
    given = text(value)
    path = PurePosixPath(given)
    if not given or not given.isprintable() or path.is_absolute() or ".." in path.parts or not path.parts:
        raise Refusal(f"must be the path of a file or folder beside the spec, without .., not {show(given)}")
    return str(path)


def _reference(value: object) -> str:
    return _path(value) if value != "" else ""


def _digest(value: object) -> str:
    given = text(value)
    if given and not _DIGEST.fullmatch(given):
        raise Refusal(f"must be a SHA-256, 64 digits of 0 to 9 and a to f, not {show(given)}")
    return given

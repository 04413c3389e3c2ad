"""Specs with a command of their own: read, written, and every fault with its key and its mend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from stackproof.backends.errors import InputError
from stackproof.backends.reading import read_spec, spec_from_dict
from stackproof.backends.spec_workload import Workload

if TYPE_CHECKING:
    from stackproof.backends.spec import Spec

COMMAND = ["python", "train.py", "--lr", "0.1"]


def read(tables: dict[str, Any]) -> Spec:
    return read_spec(tables, "own.toml", "own")


def faults(tables: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        read(tables)
    return {fault.where: fault.what for fault in caught.value.faults}


def test_a_command_is_all_that_a_spec_needs() -> None:
    spec = read({"workload": {"command": COMMAND}})
    assert spec.workload == Workload(command=tuple(COMMAND))
    assert (spec.name, spec.train.steps, spec.train.seed) == ("own", 30, 0)


def test_every_key_is_read() -> None:
    workload = {
        "command": COMMAND,
        "files": ["train.py", "parts/"],
        "digest": "0" * 64,
        "seconds": 10,
        "silence": 2.5,
        "tolerance": 0,
        "reference": "losses.json",
    }
    spec = read({"name": "mine", "workload": workload, "train": {"steps": 7, "seed": 3}})
    assert spec.workload == Workload(tuple(COMMAND), ("train.py", "parts"), "0" * 64, 10.0, 2.5, 0.0, "losses.json")
    assert (spec.name, spec.train.steps, spec.train.seed) == ("mine", 7, 3)


def test_a_spec_that_was_written_is_read_back() -> None:
    spec = read({"workload": {"command": COMMAND, "files": ["train.py"], "tolerance": 0.5}, "train": {"steps": 7}})
    written = spec.to_dict()
    assert set(written) == {"schema_version", "name", "workload", "train"}
    assert written["train"] == {"steps": 7, "seed": 0}
    assert spec_from_dict(written) == spec


@pytest.mark.parametrize(
    "other",
    [
        {"workload": {"command": ["python", "other.py"]}},
        {"workload": {"command": COMMAND, "digest": "0" * 64}},
        {"workload": {"command": COMMAND, "tolerance": 0.5}},
        {"workload": {"command": COMMAND}, "train": {"seed": 1}},
        {"workload": {"command": COMMAND}, "train": {"steps": 31}},
    ],
)
def test_another_spec_has_another_digest(other: dict[str, Any]) -> None:
    assert read(other).digest != read({"workload": {"command": COMMAND}}).digest


def test_a_name_is_no_part_of_the_digest() -> None:
    tables = {"workload": {"command": COMMAND}}
    assert read({"name": "a", **tables}).digest == read(tables).digest


@pytest.mark.parametrize("table", ["model", "data", "optimizer", "schedule"])
def test_what_a_command_has_of_its_own_is_refused(table: str) -> None:
    assert "does not count beside [workload]" in faults({"workload": {"command": COMMAND}, table: {}})[table]


@pytest.mark.parametrize("key", ["precision", "compile", "clip_norm", "loss", "accumulate", "ema"])
def test_what_the_command_decides_is_refused(key: str) -> None:
    found = faults({"workload": {"command": COMMAND}, "train": {key: 1}})
    assert "only steps and seed are handed to it" in found[f"train.{key}"]


@pytest.mark.parametrize(
    ("workload", "where", "what"),
    [
        ({}, "workload.command", 'missing: name the command, such as command = ["python", "train.py"]'),
        (3, "workload", "must be a table"),
        ({"command": []}, "workload.command", "it is empty"),
        ({"command": 3}, "workload.command", "must be a list"),
        ({"command": "python train.py"}, "workload.command", 'no shell reads it: write ["python", "train.py"]'),
        ({"command": "python t.py; rm x"}, "workload.command", 'write ["python", "train.py"]'),
        ({"command": ["python train.py"]}, "workload.command", 'write ["python", "train.py"]'),
        ({"command": ["python", 3]}, "workload.command[1]", "must be text in quotes, not 3"),
        ({"command": ["python", "a\0b"]}, "workload.command[1]", "without NUL"),
        ({"files": ["/etc/passwd"]}, "workload.files[0]", "beside the spec, without .."),
        ({"files": ["a/../../b"]}, "workload.files[0]", "beside the spec, without .."),
        ({"files": [""]}, "workload.files[0]", "beside the spec"),
        ({"files": ["a", "./a"]}, "workload.files[1]", "is in the list already"),
        ({"files": "train.py"}, "workload.files", 'put it in brackets, ["train.py"]'),
        ({"digest": "abc"}, "workload.digest", "must be a SHA-256"),
        ({"seconds": 0}, "workload.seconds", "must be above 0"),
        ({"silence": float("inf")}, "workload.silence", "must be a finite number"),
        ({"seconds": 5, "silence": 6}, "workload.silence", "6 s can never pass"),
        ({"tolerance": -1}, "workload.tolerance", "must be from 0 to 1"),
        ({"reference": "../losses.json"}, "workload.reference", "beside the spec"),
        ({"losses": [1]}, "workload.losses", "unknown key"),
        ({"comand": ["python"]}, "workload.comand", "did you mean 'command'?"),
        ({"steps": 3}, "workload.steps", "belongs in [train]"),
    ],
)
def test_a_fault_has_its_key_and_its_mend(workload: Any, where: str, what: str) -> None:
    given = {"command": COMMAND, **workload} if isinstance(workload, dict) and workload else workload
    found = faults({"workload": given})
    assert what in found[where]
    assert len(found) == 1


def test_every_fault_is_named_at_once() -> None:
    train = {"steps": 0, "tolerance": 1}
    tables = {"workload": {"seconds": -1}, "train": train, "model": {"kind": "mlp"}, "command": []}
    assert list(faults(tables)) == [
        "workload.seconds", "workload.command", "train.steps", "train.tolerance", "model", "command",
    ]  # fmt: skip


def test_without_a_limit_of_its_own_silence_is_no_fault() -> None:
    assert read({"workload": {"command": COMMAND, "seconds": 5}}).workload is not None

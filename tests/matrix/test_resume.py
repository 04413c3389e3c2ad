"""What an output folder was last used for, and what may be gone on with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train
from stackproof.compat.cell import Stack
from stackproof.compat.errors import InputError, OutsideError
from stackproof.matrix.config import Matrix, RunSettings, ThroughputSettings
from stackproof.matrix.resume import begin, complete

if TYPE_CHECKING:
    from pathlib import Path

SPEC = Spec("tiny", Mlp(), Data(), Optimizer(), Schedule(), Train())
MATRIX = Matrix("fleet", "fleet.toml", (SPEC,), {"torch": ("2.13.0",), "python": ("3.11",)}, {"torch": "2.13.0"})


def state(folder: Path) -> str:
    kept: dict[str, Any] = json.loads((folder / "certify.json").read_text(encoding="utf-8"))
    return str(kept["state"])


def test_a_run_is_begun_and_comes_to_its_end(tmp_path: Path) -> None:
    begin(tmp_path, MATRIX, resume=False)
    assert state(tmp_path) == "begun"
    complete(tmp_path)
    assert state(tmp_path) == "complete"


@pytest.mark.parametrize("finished", [False, True])
def test_the_same_matrix_may_be_gone_on_with(tmp_path: Path, *, finished: bool) -> None:
    begin(tmp_path, MATRIX, resume=False)
    if finished:
        complete(tmp_path)
    # Where the file lies and what it is called is no part of what is certified.
    begin(tmp_path, replace(MATRIX, source="elsewhere/fleet.toml"), resume=True)
    assert state(tmp_path) == "begun"


CHANGES = [
    {"specs": (replace(SPEC, train=Train(steps=31)),)},
    {"specs": (replace(SPEC, name="other"),)},
    {"specs": (SPEC, replace(SPEC, name="other"))},
    {"axes": {"torch": ("2.13.0", "2.15.0"), "python": ("3.11",)}},
    {"axes": {"torch": ("2.13.0",), "python": ("3.12",)}},
    {"baseline": {}},
    {"include": (Stack("jax", "0.9.2", "3.11"),)},
    {"exclude": ({"spec": "other"},)},
    {"run": RunSettings(threads=2)},
    {"throughput": ThroughputSettings(rounds=5)},
]


@pytest.mark.parametrize("changes", CHANGES)
def test_another_matrix_may_not(tmp_path: Path, changes: dict[str, Any]) -> None:
    begin(tmp_path, MATRIX, resume=False)
    other = replace(MATRIX, **changes)
    with pytest.raises(InputError) as caught:
        begin(tmp_path, other, resume=True)
    assert "the run begun there is of matrix 'fleet' as it was then, and fleet.toml is another now" in str(caught.value)
    # What was refused changed nothing: the old one can still be gone on with.
    begin(tmp_path, MATRIX, resume=True)


@pytest.mark.parametrize("changes", CHANGES)
def test_another_matrix_may_be_begun_in_the_same_folder(tmp_path: Path, changes: dict[str, Any]) -> None:
    begin(tmp_path, MATRIX, resume=False)
    other = replace(MATRIX, **changes)
    begin(tmp_path, other, resume=False)
    begin(tmp_path, other, resume=True)
    with pytest.raises(InputError):
        begin(tmp_path, MATRIX, resume=True)


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff", b"{}"])
def test_nothing_can_be_gone_on_with_where_nothing_was_begun(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "certify.json").write_bytes(content)
    with pytest.raises(InputError, match="--resume: nothing was begun there; leave --resume out to begin") as caught:
        begin(tmp_path, MATRIX, resume=True)
    assert caught.value.exit_code == 2
    begin(tmp_path, MATRIX, resume=False)
    assert state(tmp_path) == "begun"


def test_a_folder_that_cannot_be_used_is_an_error_of_the_outside(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutsideError, match="cannot use the folder"):
        begin(tmp_path / "file", MATRIX, resume=False)

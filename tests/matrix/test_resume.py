"""What an output folder was last used for, and what may be gone on with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train
from stackproof.compat.cell import Stack
from stackproof.compat.errors import InputError, OutsideError
from stackproof.matrix.config import ImageSettings, Matrix, RunSettings, ThroughputSettings
from stackproof.matrix.resume import begin, check_begun, complete

if TYPE_CHECKING:
    from pathlib import Path

SPEC = Spec("tiny", Mlp(), Data(), Optimizer(), Schedule(), Train())
MATRIX = Matrix("fleet", "fleet.toml", (SPEC,), {"torch": ("2.13.0",), "python": ("3.11",)}, {"torch": "2.13.0"})


def state(folder: Path) -> str:
    kept: dict[str, Any] = json.loads((folder / "certify.json").read_text(encoding="utf-8"))
    return str(kept["state"])


def test_a_run_is_begun_and_comes_to_its_end(tmp_path: Path) -> None:
    begin(tmp_path, MATRIX)
    assert state(tmp_path) == "begun"
    complete(tmp_path)
    assert state(tmp_path) == "complete"


@pytest.mark.parametrize("finished", [False, True])
def test_the_same_matrix_may_be_gone_on_with(tmp_path: Path, *, finished: bool) -> None:
    begin(tmp_path, MATRIX)
    if finished:
        complete(tmp_path)
    # Where the file lies and what it is called is no part of what is certified.
    check_begun(tmp_path, replace(MATRIX, source="elsewhere/fleet.toml"))
    assert state(tmp_path) == ("complete" if finished else "begun")


def test_what_an_older_release_began_may_be_gone_on_with(tmp_path: Path) -> None:
    matrix = replace(MATRIX, include=(Stack("jax", "0.9.2", "3.11", (("numpy", "2.2.6"),)),))
    begin(tmp_path, matrix)
    kept = json.loads((tmp_path / "certify.json").read_text(encoding="utf-8"))
    assert kept["digest"] == "bb19f0bfdefb5a1b92b2e16a1a66242683079b47be41fa408c65804dabfd56da"


CHANGES = [
    {"specs": (replace(SPEC, train=Train(steps=31)),)},
    {"specs": (replace(SPEC, name="other"),)},
    {"specs": (SPEC, replace(SPEC, name="other"))},
    {"axes": {"torch": ("2.13.0", "2.15.0"), "python": ("3.11",)}},
    {"axes": {"torch": ("2.13.0",), "python": ("3.12",)}},
    {"baseline": {}},
    {"include": (Stack("jax", "0.9.2", "3.11"),)},
    {"include": (Stack("jax", "0.9.2", "3.11", extras=("cuda12",)),)},
    {"include": (Stack("jax", "0.9.2", "3.11", os="debian:bookworm"),)},
    {"image": ImageSettings(cuda="base")},
    {"image": ImageSettings(labels={"team": "vision"})},
    {"exclude": ({"spec": "other"},)},
    {"run": RunSettings(threads=2)},
    {"run": RunSettings(prune=False)},
    {"throughput": ThroughputSettings(rounds=5)},
]


@pytest.mark.parametrize("changes", CHANGES)
def test_another_matrix_may_not(tmp_path: Path, changes: dict[str, Any]) -> None:
    begin(tmp_path, MATRIX)
    other = replace(MATRIX, **changes)
    with pytest.raises(InputError) as caught:
        check_begun(tmp_path, other)
    assert "the run begun there is of matrix 'fleet' as it was then, and fleet.toml is another now" in str(caught.value)
    # What was refused changed nothing: the old one can still be gone on with.
    check_begun(tmp_path, MATRIX)


@pytest.mark.parametrize("changes", CHANGES)
def test_another_matrix_may_be_begun_in_the_same_folder(tmp_path: Path, changes: dict[str, Any]) -> None:
    begin(tmp_path, MATRIX)
    other = replace(MATRIX, **changes)
    begin(tmp_path, other)
    check_begun(tmp_path, other)
    with pytest.raises(InputError):
        check_begun(tmp_path, MATRIX)


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff", b"{}"])
def test_nothing_can_be_gone_on_with_where_nothing_was_begun(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "certify.json").write_bytes(content)
    with pytest.raises(InputError, match="--resume: nothing was begun there; leave --resume out to begin") as caught:
        check_begun(tmp_path, MATRIX)
    assert caught.value.exit_code == 2
    begin(tmp_path, MATRIX)
    assert state(tmp_path) == "begun"


def test_a_folder_that_cannot_be_used_is_an_error_of_the_outside(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for use in (begin, check_begun):
        with pytest.raises(OutsideError, match="cannot use the folder"):
            use(tmp_path / "file", MATRIX)


def test_drafts_of_a_killed_process_are_swept_and_nothing_else(tmp_path: Path) -> None:
    drafts = [".certify.json.1.2.partial", "evidence/.ab.json.1.2.partial", ".report.html.77", "work/worker-ab.new"]
    kept = ["report.html", "evidence/ab.json", "evidence/partial", "work/worker-ab.zip", ".lock", "store.sqlite"]
    for name in (*drafts, *kept):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("half")
    begin(tmp_path, MATRIX)
    assert [name for name in drafts if (tmp_path / name).exists()] == []
    assert [name for name in kept if not (tmp_path / name).exists()] == []

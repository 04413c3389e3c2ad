"""Checkpoints: whole or not there, of this run or refused, and the last good one outlives whatever goes wrong."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stackproof.backends import checkpoint
from stackproof.backends.checkpoint import Belonging, Checkpoint, DamagedError, Folder, dump, load, write_whole
from stackproof.backends.errors import InputError, StackproofError

if TYPE_CHECKING:
    from collections.abc import Callable

OWN = Belonging("a spec", "a program", "measured in float32")
ROOT = Path(checkpoint.__file__).resolve().parents[1]


def made(step: int = 2, belonging: Belonging = OWN) -> Checkpoint:
    tensors = {"parameter/w": np.arange(6, dtype=np.float32).reshape(2, 3) + step, "optimizer/first/w": np.ones((2, 3))}
    losses = np.array([np.nan, *range(step - 1)], np.float64)
    return Checkpoint(belonging, step, "torch", "eager", tensors, losses, losses + 0.5)


def folder(path: Path) -> Folder:
    return Folder(path, 2, OWN, "torch")


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.iterdir())


def test_what_is_written_is_read_bit_for_bit() -> None:
    wrote, read = made(), load(dump(made()), "f")
    assert (read.belonging, read.step, read.target, read.execution) == (OWN, 2, "torch", "eager")
    assert list(read.tensors) == list(wrote.tensors)
    for name, value in wrote.tensors.items():
        assert (read.tensors[name].dtype, read.tensors[name].tobytes()) == (value.dtype, value.tobytes())
    assert read.losses.tobytes() == wrote.losses.tobytes()
    assert read.grad_norms.tobytes() == wrote.grad_norms.tobytes()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_said_to_be(share: float) -> None:
    content = dump(made())
    with pytest.raises(DamagedError, match="cut short or changed: remove it"):
        load(content[: int(len(content) * share)], "f")


def test_each_changed_byte_of_the_numbers_is_found() -> None:
    content, numbers = bytearray(dump(made())), made().tensors["parameter/w"].tobytes()
    start = bytes(content).index(numbers)
    for place in range(start, start + len(numbers)):
        changed = content.copy()
        changed[place] ^= 1
        with pytest.raises(DamagedError):
            load(bytes(changed), "f")


def rewritten(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> bytes:
    """Return a sound archive whose header or tensors are not those that were written."""
    with np.load(io.BytesIO(dump(made()))) as arrays:
        held: dict[str, Any] = {name: arrays[name] for name in arrays.files}
    header = json.loads(held["header"].tobytes())
    change(header, held)
    held["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **held)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "change",
    [
        lambda _header, held: held.update({"parameter/w": held["parameter/w"] + 1}),
        lambda _header, held: held.update({"parameter/w": held["parameter/w"].astype(np.float64)}),
        lambda _header, held: held.update({"parameter/w": held["parameter/w"].reshape(3, 2)}),
        lambda _header, held: held.pop("parameter/w"),
        lambda _header, held: held.pop("record/losses"),
        lambda _header, held: held.update(more=np.ones(1)),
        lambda header, _held: header.update(step=3),
        lambda header, _held: header.pop("spec"),
        lambda header, _held: header.pop("tensors"),
        lambda header, _held: header.pop("schema_version"),
    ],
)
def test_a_tensor_that_is_not_what_the_header_says_is_found(change: Callable[..., object]) -> None:
    with pytest.raises(DamagedError, match="cut short or changed"):
        load(rewritten(change), "f")


def test_another_version_is_refused() -> None:
    with pytest.raises(InputError, match="schema 9, this version reads 1: go on with the stackproof that wrote it"):
        load(rewritten(lambda header, _held: header.update(schema_version=9)), "f")


def test_the_newest_is_gone_on_from_and_two_are_kept(tmp_path: Path) -> None:
    own = folder(tmp_path / "new")
    assert own.newest() is None
    for step in (2, 4, 6):
        own.keep(made(step))
    assert names(own.path) == ["step-0000000004.npz", "step-0000000006.npz"]
    found = own.newest()
    assert found is not None
    assert found.step == 6


def test_the_one_before_a_damaged_one_is_gone_on_from(tmp_path: Path) -> None:
    own = folder(tmp_path)
    own.keep(made(2))
    newest = own.keep(made(4))
    newest.write_bytes(newest.read_bytes()[:-20])
    found = own.newest()
    assert found is not None
    assert found.step == 2
    # It goes on from there, and no sound one is given up for one that is damaged.
    own.keep(made(3))
    assert names(tmp_path) == [f"step-{step:010d}.npz" for step in (2, 3, 4)]


def test_where_all_are_damaged_it_says_so(tmp_path: Path) -> None:
    own = folder(tmp_path)
    own.keep(made(2)).write_bytes(b"")
    with pytest.raises(DamagedError, match="step-0000000002"):
        own.newest()


@pytest.mark.parametrize(("field", "what"), [("spec", "spec"), ("program", "program"), ("run", "run")])
def test_one_of_something_else_is_refused(tmp_path: Path, field: str, what: str) -> None:
    folder(tmp_path).keep(made(2, replace(OWN, **{field: "other"})))
    with pytest.raises(
        InputError, match=f"of another {what}: go on with what it was made with, or give another folder"
    ):
        folder(tmp_path).newest()


def test_a_run_that_begins_anew_does_not_write_over_another(tmp_path: Path) -> None:
    own = folder(tmp_path)
    assert own.found(resume=False) is None
    own.keep(made(2))
    with pytest.raises(InputError, match="already: resume from them, remove them, or give another folder"):
        own.found(resume=False)
    assert own.found(resume=True) is not None


def test_a_disk_that_refuses_leaves_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = folder(tmp_path)
    own.keep(made(2))

    def refuse(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", refuse)
    with pytest.raises(StackproofError, match=r"No space left on device.*go on from the last one, which is whole"):
        own.keep(made(4))
    assert names(tmp_path) == ["step-0000000002.npz"]
    found = own.newest()
    assert found is not None
    assert found.step == 2


_WRITE = "import sys; from pathlib import Path; from stackproof.backends.checkpoint import write_whole; "


def test_a_file_that_does_not_fit_leaves_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_whole(path, b"sound")
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); {_WRITE}"
        "write_whole(Path(sys.argv[1]), bytes(5000))"
    )
    child = subprocess.run([sys.executable, "-c", code, path], cwd=ROOT, check=False, capture_output=True, text=True)
    assert "File too large" in child.stderr
    assert names(tmp_path) == ["f"]
    assert path.read_bytes() == b"sound"


def test_a_process_that_is_killed_while_writing_leaves_the_last_one(tmp_path: Path) -> None:
    own = folder(tmp_path)
    own.keep(made(2))
    before = (tmp_path / "step-0000000002.npz").read_bytes()
    code = (
        f"import os; {_WRITE}os.fsync = lambda _: os.kill(os.getpid(), {int(signal.SIGKILL)}); "
        "write_whole(Path(sys.argv[1]), bytes(5000))"
    )
    target = tmp_path / "step-0000000004.npz"
    child = subprocess.run([sys.executable, "-c", code, target], cwd=ROOT, check=False)
    assert child.returncode == -signal.SIGKILL
    assert not target.exists()
    assert own.newest() is not None
    assert (tmp_path / "step-0000000002.npz").read_bytes() == before
    # What it left is written over by the next one.
    own.keep(made(4))
    assert names(tmp_path) == ["step-0000000002.npz", target.name]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(StackproofError, match=f"{os.sep}taken{os.sep}step.*cannot be written"):
        folder(tmp_path / "taken").keep(made())

"""From paths to bytes, and files that include each other."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

import pytest

from stackproof.compat.errors import InputError
from stackproof.compat.readers import files, read_files, read_inputs

if TYPE_CHECKING:
    from pathlib import Path


def test_files_come_with_their_names(tmp_path: Path) -> None:
    path = tmp_path / "freeze.txt"
    path.write_bytes(b"torch==2.1.0")
    assert read_files([str(path)]) == [(str(path), b"torch==2.1.0")]


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"torch==2.1.0")))
    assert read_files(["-"]) == [("standard input", b"torch==2.1.0")]


def test_everything_that_cannot_be_read_is_named_with_its_mend(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    paths = [str(tmp_path), str(tmp_path / "none.txt"), str(loop), "/dev/zero", "a\0b"]
    with pytest.raises(InputError) as caught:
        read_files(paths)
    said = str(caught.value)
    for word in ("is a folder", "no such file", "leads back to itself", "is a device", "zero byte"):
        assert word in said


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST", 10)
    path = tmp_path / "large.txt"
    path.write_bytes(b"x" * 11)
    with pytest.raises(InputError, match="is larger than"):
        read_files([str(path)])


def test_includes_are_read_beside_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "requirements.txt").write_text("-r base/more.txt\nnumpy==1.26.4\n")
    (tmp_path / "base" / "more.txt").write_text("-c limits.txt\ntorch==2.1.0\n-r ../requirements.txt\n")
    (tmp_path / "base" / "limits.txt").write_text("protobuf<5\n")
    found = read_inputs(read_files([str(tmp_path / "requirements.txt")])).describe()
    assert found.packages >= {"torch", "numpy"}
    assert found.required == ("protobuf<5",)


def test_a_constraint_installs_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("-c limits.txt\nnumpy==1.26.4\n")
    (tmp_path / "limits.txt").write_text("torch==2.1.0\n")
    found = read_inputs(read_files([str(tmp_path / "requirements.txt")])).describe()
    assert found.packages == {"numpy"}
    assert found.required == ("torch==2.1.0",)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    found = read_inputs([(str(path), b"-r missing.txt\ntorch==2.1.0"), ("standard input", b"-r other.txt")]).describe()
    assert [os.path.basename(text.split(" was not read")[0]) for text in found.not_understood] == [  # noqa: PTH119 - text
        f"{path.name}:1: the included file missing.txt",
        "standard input:1: the included file other.txt",
    ]


def test_a_hundred_files_deep_ends(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"r{number}.txt").write_text(f"-r r{number + 1}.txt\np{number}==1.0\n")
    found = read_inputs(read_files([str(tmp_path / "r0.txt")]))
    assert "p5" in found.packages
    assert any("include each other" in text for text in found.not_understood)


def test_standard_input_is_called_so_in_its_faults_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackproof.compat.readers.files.LARGEST", 10)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"torch==2.1.0")))
    with pytest.raises(InputError, match="standard input: is larger than"):
        read_files(["-"])

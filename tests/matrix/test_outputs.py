"""Files that `import` and `export` write: none is lost, and what cannot be written is refused first."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import onnx
import pytest
from onnx_models import classifier

from stackproof.backends.errors import InputError
from stackproof.matrix import cli
from stackproof.matrix.kept import PROGRAM
from stackproof.matrix.outputs import check_outputs, write_output

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a run's folder, beside the model."""
    onnx.save(classifier(), tmp_path / "m.onnx")
    (tmp_path / "run").mkdir()
    words = ["import", str(tmp_path / "m.onnx"), "--batch", "4", "--out", str(tmp_path / "run" / PROGRAM)]
    assert cli.main(words) == 0
    capsys.readouterr()
    return tmp_path / "run"


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert cli.main([str(word) for word in words]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("link", ["", "symbolic", "hard"])
def test_a_model_is_not_overwritten_by_its_program(run: Path, capsys: pytest.CaptureFixture[str], link: str) -> None:
    model, out = run.parent / "m.onnx", run.parent / ("other" if link else "m.onnx")
    before = model.read_bytes()
    if link == "symbolic":
        out.symlink_to(model)
    elif link:
        out.hardlink_to(model)
    assert "would be lost: give another file" in refused(capsys, "import", model, "--batch", 4, "--out", out)
    assert model.read_bytes() == before


def test_a_file_of_the_models_tensors_is_not_overwritten(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = run.parent / "large.onnx"
    onnx.save(classifier(), model, save_as_external_data=True, location="large.data", size_threshold=0)
    before = (run.parent / "large.data").read_bytes()
    told = refused(capsys, "import", model, "--batch", 4, "--out", run.parent / "large.data")
    assert "would be lost" in told
    assert (run.parent / "large.data").read_bytes() == before


@pytest.mark.parametrize("option", ["--onnx", "--safetensors"])
def test_places_that_are_no_file_are_refused_before_anything(
    run: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    folder = run.parent
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to(folder / "loop")
    for place, why in (
        (folder / "sub", "is a folder: give the name of a file in it"),
        (folder / "pipe", "is a device, a pipe or a socket"),
        ("/dev/full", "is a device, a pipe or a socket"),
        (folder / "m.onnx" / "below", "m.onnx is a file: give another folder"),
        (run / PROGRAM, "is read by this command, and would be lost"),
        (folder / "loop", "is a link that leads to itself"),
    ):
        other = "--onnx" if option == "--safetensors" else "--safetensors"
        told = refused(capsys, "export", run, option, place, other, folder / "never")
        assert f"{option}: " in told
        assert why in told
    assert not (folder / "never").exists()
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)


def test_two_files_under_one_name_are_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = run.parent / "same"
    (run.parent / "link").symlink_to(place)
    for second in (place, run / ".." / "same", run.parent / "link"):
        told = refused(capsys, "export", run, "--onnx", place, "--safetensors", second)
        assert "is the file of --onnx too: give each its own" in told
    assert not place.exists()


def test_what_a_link_leads_to_is_written_and_the_link_stays(run: Path) -> None:
    link, place = run.parent / "link", run.parent / "sub" / "w"
    link.symlink_to(place)
    for _ in range(2):
        assert cli.main(["export", str(run), "--safetensors", str(link), "--json"]) == 0
    assert link.is_symlink()
    assert place.is_file()


def test_every_file_has_the_mode_that_the_process_gives(run: Path) -> None:
    before = os.umask(0o027)
    try:
        words = ["--onnx", str(run.parent / "o"), "--safetensors", str(run.parent / "w"), "--json"]
        assert cli.main(["export", str(run), *words]) == 0
    finally:
        os.umask(before)
    assert {stat.S_IMODE((run.parent / name).stat().st_mode) for name in "ow"} == {0o640}


def test_a_disk_that_refuses_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    write_output(tmp_path / "w", b"old")
    monkeypatch.setattr("stackproof.matrix.outputs.replace_file", full)
    with pytest.raises(InputError, match=r"w: cannot be written \(No space left on device\)"):
        write_output(tmp_path / "w", b"new")
    assert (tmp_path / "w").read_bytes() == b"old"


def test_ordinary_places_are_taken(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"")
    check_outputs("export", {"--onnx": tmp_path / "old", "--safetensors": tmp_path / "a" / "b", "--more": None}, [])


@pytest.mark.parametrize("cut", [slice(0, 900), slice(0, -30), "flip"])
def test_a_damaged_program_is_an_error_of_input(
    run: Path, capsys: pytest.CaptureFixture[str], cut: slice | str
) -> None:
    content = bytearray((run / PROGRAM).read_bytes())
    if isinstance(cut, slice):
        content = content[cut]
    else:
        content[len(content) // 2] ^= 255
    (run / PROGRAM).write_bytes(content)
    assert "is no program that this version wrote" in refused(capsys, "export", run, "--onnx", run.parent / "o")

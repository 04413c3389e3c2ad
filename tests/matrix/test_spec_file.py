"""Spec files and settings from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.compat.errors import Fault, InputError
from stackproof.matrix.spec_file import load_spec

MLP = '[model]\nkind = "mlp"\n'


@pytest.fixture
def spec_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(MLP + "[train]\nsteps = 10\n", encoding="utf-8")
    return path


def refused(path: Path, *settings: str) -> list[Fault]:
    with pytest.raises(InputError) as caught:
        load_spec(path, settings)
    return list(caught.value.faults)


def test_the_name_is_the_stem_of_the_file(spec_file: Path) -> None:
    assert load_spec(spec_file).name == "run"
    assert load_spec(spec_file, ["name=other"]).name == "other"


def test_a_byte_order_mark_and_crlf_are_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b"\xef\xbb\xbf" + MLP.replace("\n", "\r\n").encode())
    assert load_spec(path).model.kind == "mlp"


@pytest.mark.parametrize(
    ("content", "where", "fragment"),
    [
        (b"[model]\nkind = gpt\n", "line 2, column 8", "text needs quotes"),
        (b"[model\n", "line 1, column 7", "no valid TOML"),
        (b"a = 1\na = 2\n", "line 2, column 6", "cannot overwrite a value"),
        (b'a = "open', "end of document", "no valid TOML"),
        (b"[model]\nkind = '\xff'\n", "line 2, column 9", "save the file as UTF-8"),
        (b"a = " + b"9" * 5000, "", "no valid TOML"),
        (b"a = " + b"[" * 100_000, "", "nested too deeply"),
        (b"#" * (2**20 + 1), "", "larger than 1 MiB"),
    ],
)
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes, where: str, fragment: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_spec(path)
    (fault,) = caught.value.faults
    assert caught.value.source == str(path)
    assert fault.where == where
    assert fragment in fault.what


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "gone.toml")[0].what
    assert "is a folder" in refused(tmp_path)[0].what
    assert "cannot be read" in refused(tmp_path / ("x" * 300))[0].what
    assert "cannot be read" in refused(Path("a\0b"))[0].what


def test_a_file_that_may_not_be_read_is_refused(monkeypatch: pytest.MonkeyPatch, spec_file: Path) -> None:
    def deny(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", deny)
    assert "give this user the right to read it" in refused(spec_file)[0].what


def test_settings_take_the_place_of_the_files_values(spec_file: Path) -> None:
    spec = load_spec(
        spec_file,
        [
            "train.compile=false",
            "train.precision=float64",
            "train.steps = 12",
            "optimizer.betas=[0.9, 0.95]",
            'schedule.kind="cosine"',
            "optimizer.lr=1e-2",
            "train.steps=13",
        ],
    )
    assert (spec.train.compile, spec.train.precision, spec.train.steps) == (False, "float64", 13)
    assert spec.optimizer.betas == (0.9, 0.95)
    assert spec.optimizer.lr == 0.01
    assert spec.schedule.kind == "cosine"


@pytest.mark.parametrize(
    ("setting", "where", "fragment"),
    [
        ("train.compil=false", "train.compil", "did you mean 'compile'?"),
        ("trian.steps=3", "trian", "did you mean 'train'?"),
        ("steps=3", "steps", "belongs in [train]"),
        ("train.steps=0", "train.steps", "must be from 1 to"),
        ("train.compile=no", "train.compile", 'must be true or false, not "no"'),
        ("optimizer.betas=[0.9, 1.0]", "optimizer.betas[1]", "below 1"),
        ("train.steps.more=3", "train.steps.more", "train.steps is no table"),
        ("train.steps", "", "write table.key=value"),
        ("=3", "", "write table.key=value"),
        ("train..steps=3", "", "write table.key=value"),
        ("train steps=3", "", "write table.key=value"),
        ("train.steps=", "", "the value '' cannot be read"),
        ("train.steps=1 2", "", "cannot be read"),
        ("train.steps=3\nname=4", "", "cannot be read"),
        ("train.steps=[", "", "cannot be read"),
        ("train.steps=" + "[" * 100_000, "", "cannot be read"),
    ],
)
def test_a_faulty_setting_is_named(spec_file: Path, setting: str, where: str, fragment: str) -> None:
    (fault,) = refused(spec_file, setting)
    assert fault.where == where
    assert fragment in fault.what
    assert fault.source.startswith("--set ")
    assert len(fault.source) < 100


def test_faults_of_file_and_settings_are_reported_together(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(MLP + "hiden = 3\n", encoding="utf-8")
    found = refused(path, "nonsense", "train.steps=0", "train.seed=1")
    assert [(fault.source, fault.where) for fault in found] == [
        ("--set nonsense", ""),
        ("", "model.hiden"),
        ("--set train.steps=0", "train.steps"),
    ]


def test_a_fault_of_the_file_is_not_laid_on_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(MLP + "[train]\nstep = 3\n", encoding="utf-8")
    (fault,) = refused(path, "train.steps=3")
    assert (fault.source, fault.where) == ("", "train.step")

"""The files of a command: found, held by their content, packed, and refused where they are not what they should be."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.backends.workload_runs import unpack
from stackproof.compat.errors import InputError
from stackproof.matrix import workload_files
from stackproof.matrix.spec_file import load_spec
from stackproof.matrix.workload_files import pack_files

if TYPE_CHECKING:
    from pathlib import Path

    from stackproof.backends.spec import Spec
    from stackproof.backends.spec_workload import Workload


def load(folder: Path, command: tuple[str, ...] = ("python", "train.py"), **workload: Any) -> Spec:
    keys = {"command": list(command), **workload}
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    path = folder / "own.toml"
    path.write_text("\n".join(["[workload]", *lines, "[train]", "steps = 2"]), encoding="utf-8")
    return load_spec(path)


def workload_of(spec: Spec) -> Workload:
    assert spec.workload is not None
    return spec.workload


def faults(folder: Path, *args: Any, **workload: Any) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        load(folder, *args, **workload)
    return {fault.where: fault.what for fault in caught.value.faults}


def held(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("one", encoding="utf-8")
    return tmp_path


def test_the_words_that_are_files_are_the_files(folder: Path) -> None:
    (folder / "configuration.yaml").write_text("two", encoding="utf-8")
    (folder / "other.txt").write_text("three", encoding="utf-8")
    spec = load(folder, ("python", "./train.py", "--config", "configuration.yaml", "--lr", "0.1"))
    assert workload_of(spec).files == ("train.py", "configuration.yaml")
    assert held(pack_files(spec)) == {"configuration.yaml": b"two", "train.py": b"one"}


def test_a_folder_stands_for_all_that_is_in_it(folder: Path) -> None:
    for name in ("parts/a.py", "parts/deep/b.py", "parts/__pycache__/a.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, encoding="utf-8")
    spec = load(folder, files=["train.py", "parts"])
    assert list(held(pack_files(spec))) == ["parts/a.py", "parts/deep/b.py", "train.py"]


def test_a_changed_file_is_another_spec(folder: Path) -> None:
    first = load(folder)
    assert load(folder).digest == first.digest
    (folder / "train.py").write_text("two", encoding="utf-8")
    assert load(folder).digest != first.digest


def test_a_changed_reference_is_another_spec(folder: Path) -> None:
    (folder / "losses.json").write_text("[2, 1]", encoding="utf-8")
    first = load(folder, reference="losses.json")
    assert workload_of(first).losses == (2.0, 1.0)
    (folder / "losses.json").write_text('{"losses": [2, 1.5]}', encoding="utf-8")
    assert load(folder, reference="losses.json").digest != first.digest


def test_the_same_files_are_the_same_bytes_wherever_they_lie(folder: Path, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("elsewhere")
    (other / "train.py").write_text("one", encoding="utf-8")
    assert load(other).digest == load(folder).digest


def test_a_digest_that_is_given_must_be_that_of_the_files(folder: Path) -> None:
    digest = workload_of(load(folder)).digest
    assert workload_of(load(folder, digest=digest)).digest == digest
    (folder / "train.py").write_text("two", encoding="utf-8")
    assert "are others now" in faults(folder, digest=digest)["workload.digest"]


def test_files_that_change_under_way_are_noticed(folder: Path) -> None:
    spec = load(folder)
    (folder / "train.py").write_text("two", encoding="utf-8")
    with pytest.raises(InputError, match="changed while"):
        pack_files(spec)


def test_files_are_put_back_as_they_were(folder: Path, tmp_path: Path) -> None:
    (folder / "run.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / "run.sh").chmod(0o755)
    unpack(pack_files(load(folder, ("./run.sh", "train.py"))), tmp_path / "there")
    assert (tmp_path / "there" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "there" / "train.py").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("command", "workload", "where", "what"),
    [
        (("python", "trian.py"), {}, "workload.command[1]", "there is no trian.py beside the spec; did you mean"),
        (("python", "train.py"), {"files": ["gone.py"]}, "workload.files[0]", "there is no gone.py beside the spec"),
        (("python", "train.py"), {"files": ["empty"]}, "workload.files[0]", "holds no file"),
        (("python", "train.py"), {"files": ["away.py"]}, "workload.files[0]", "leads out of the spec's folder"),
        (("python", "train.py"), {"reference": "gone.json"}, "workload.reference", "there is no such file"),
        (("python", "train.py"), {"reference": "train.py"}, "workload.reference", "cannot be read as JSON"),
        (("python", "train.py"), {"reference": "short.json"}, "workload.reference", "1 losses and train.steps is 2"),
        (("python", "train.py"), {"reference": "nan.json"}, "workload.reference", "no list of finite losses"),
        (("python", "train.py"), {"reference": "huge.json"}, "workload.reference", "no list of finite losses"),
        (("python", "train.py"), {"reference": "words.json"}, "workload.reference", "no list of finite losses"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_a_fault(
    folder: Path, command: tuple[str, ...], workload: dict[str, Any], where: str, what: str
) -> None:
    (folder / "empty").mkdir()
    (folder / "away.py").symlink_to("/etc/hostname")
    written = {"short": "[1]", "nan": "[1, NaN]", "huge": f"[1, {'9' * 400}]", "words": '{"loss": [1, 2]}'}
    for name, content in written.items():
        (folder / f"{name}.json").write_text(content, encoding="utf-8")
    found = faults(folder, command, **workload)
    assert what in found[where]
    assert len(found) == 1


def test_files_that_are_too_large_are_a_fault(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload_files, "MOST_BYTES", 2)
    assert "STACKPROOF_SPEC_FOLDER" in faults(folder)["workload.files"]


def test_a_module_needs_no_file(folder: Path) -> None:
    assert workload_of(load(folder, ("python", "-m", "package.training"))).files == ()

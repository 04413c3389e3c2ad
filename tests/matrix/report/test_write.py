from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest

from stackproof.compat.errors import OutsideError
from stackproof.matrix.report import write
from stackproof.matrix.report.write import render_json, write_reports

NAMES = ["report.json", "report.md", "junit.xml", "report.html"]


def refuse(constant: str) -> NoReturn:
    pytest.fail(f"{constant} is no JSON")


def test_writes_all_four_and_nothing_else(certified: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    assert write_reports(certified, folder) == [folder / name for name in NAMES]
    assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)


def test_json_is_strict_and_keeps_contract_order(every_verdict: dict[str, Any]) -> None:
    every_verdict["cells"][0]["curves"]["loss"][3] = float("nan")
    every_verdict["cells"][0]["checks"][0]["measured"] = float("inf")
    loaded = json.loads(render_json(every_verdict), parse_constant=refuse)
    assert next(iter(loaded)) == "schema_version"
    assert list(loaded) == list(every_verdict)
    assert loaded["cells"][0]["curves"]["loss"][3] is None
    assert loaded["cells"][0]["checks"][0]["measured"] == "inf"
    assert loaded["cells"][-1]["reasons"] == every_verdict["cells"][-1]["reasons"]


def test_every_number_comes_back_exactly(certified: dict[str, Any]) -> None:
    assert json.loads(render_json(certified)) == certified


def test_same_report_gives_same_bytes(every_verdict: dict[str, Any], tmp_path: Path) -> None:
    first = {path.name: path.read_bytes() for path in write_reports(every_verdict, tmp_path / "a")}
    again = {path.name: path.read_bytes() for path in write_reports(every_verdict, tmp_path / "b")}
    assert first == again


def test_renderers_leave_the_report_alone(every_verdict: dict[str, Any], tmp_path: Path) -> None:
    before = json.dumps(every_verdict)
    write_reports(every_verdict, tmp_path)
    assert json.dumps(every_verdict) == before


def test_failure_on_the_way_keeps_the_old_files_whole(
    certified: dict[str, Any], every_verdict: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in write_reports(certified, tmp_path)}

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutsideError, match="No space left"):
        write_reports(every_verdict, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_renderer_that_fails_leaves_nothing_behind(
    certified: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(report: object) -> str:
        raise KeyError(report)

    monkeypatch.setattr(write, "render_html", fail)
    with pytest.raises(KeyError):
        write_reports(certified, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_file_in_the_way_is_said_with_what_to_do(certified: dict[str, Any], tmp_path: Path) -> None:
    taken = tmp_path / "out"
    taken.write_text("")
    with pytest.raises(OutsideError, match=r"could not be written to .*out.*a file of that name is in the way"):
        write_reports(certified, taken)
    with pytest.raises(OutsideError, match="a file of that name is in the way"):
        write_reports(certified, taken / "deeper")


@pytest.mark.parametrize(
    ("code", "mend"),
    [
        (errno.ENOSPC, "free some space there"),
        (errno.EROFS, "mounted read-only"),
        (errno.EACCES, "must be writable for you"),
        (errno.EIO, "see that it can be written"),
    ],
)
def test_every_refusal_of_the_disk_names_folder_and_mend(
    certified: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, mend: str
) -> None:
    def refuse_folder(*_args: object, **_options: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "mkdir", refuse_folder)
    with pytest.raises(OutsideError) as raised:
        write_reports(certified, tmp_path / "out")
    assert str(tmp_path / "out") in str(raised.value)
    assert mend in str(raised.value)
    assert "--out" in str(raised.value)

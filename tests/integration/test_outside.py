"""What lies outside fails: network, disk, folders. The message names what to look at, and no report is half-written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import dead_index, usual_variables
from tiny import read_report, write_matrix

from stackproof.matrix.store import sole_use

if TYPE_CHECKING:
    from collections.abc import Callable

    from command_line import CommandLine
    from conftest import Certified

FILES = ("report.json", "report.html", "report.md", "junit.xml")


def test_no_network(command: CommandLine, tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path, {"jax": ["0.10.2"]})
    ended = command.run("certify", matrix, "--out", tmp_path / "out", **dead_index(tmp_path))
    assert ended.code == 3
    assert "Traceback" not in ended.err
    for said in (
        ended.out,
        (tmp_path / "out" / "report.md").read_text(),
        (tmp_path / "out" / "report.html").read_text(),
    ):
        assert "the package index could not be reached" in said
        assert "Check the network. The index is chosen by UV_DEFAULT_INDEX" in " ".join(said.split())
    (cell,) = read_report(tmp_path / "out")["cells"]
    assert (cell["verdict"], cell["level"]) == ("untested", "declared")
    assert all((tmp_path / "out" / name).exists() for name in FILES)
    # Nothing is held against the cell once the network is back.
    again = command.run("certify", matrix, "--out", tmp_path / "out", "--json")
    assert again.code == 0, again.err
    assert again.json["totals"]["certified"] == 1


@pytest.mark.parametrize("size", ["64k", "200k", "256k", "320k"])
def test_output_folder_on_a_full_disk(
    size: str, mounted: Callable[[str], Path], command: CommandLine, tmp_path: Path
) -> None:
    out = mounted(size) / "out"
    ended = command.run("certify", write_matrix(tmp_path, {"jax": ["0.10.2"]}), "--out", out)
    assert ended.code == 3, ended.out + ended.err
    assert str(out) in ended.err
    assert "space" in ended.err
    assert "Traceback" not in ended.err
    assert "broken" not in ended.out
    assert_no_half_report(out)


@pytest.mark.parametrize("free", [0, 24, 48, 100])
def test_disk_that_fills_up_before_the_report(
    free: int, copied: Certified, mounted: Callable[[str], Path], command: CommandLine
) -> None:
    out = mounted("4m") / "out"
    shutil.copytree(copied.folder, out)
    before = {name: (out / name).read_bytes() for name in FILES}
    _fill(out.parent, free * 1024)
    ended = command.run("certify", copied.matrix, "--out", out)
    if ended.code != 0:
        assert ended.code == 3, ended.err
        assert str(out) in ended.err
        assert "Traceback" not in ended.err
    else:
        assert free == 100
    assert_no_half_report(out)
    (out.parent / "filler").unlink()
    again = command.run("certify", copied.matrix, "--out", out, "--json")
    assert again.code == 0, again.err
    assert again.json["totals"]["runs_made"] == 0
    assert before.keys() == {path.name for path in out.iterdir() if path.name in FILES}


def test_disk_without_any_space(mounted: Callable[[str], Path], command: CommandLine, tmp_path: Path) -> None:
    disk = mounted("64k")
    _fill(disk, 0)
    ended = command.run("certify", write_matrix(tmp_path, {"jax": ["0.10.2"]}), "--out", disk / "out")
    assert ended.code == 3
    assert "No space left on device" in ended.err
    assert str(disk / "out") in ended.err
    assert "fault of stackproof" not in ended.err


@pytest.mark.parametrize("words", [["--json"], []])
def test_standard_output_on_a_full_disk(words: list[str], copied: Certified, cache: Path) -> None:
    line = [sys.executable, "-m", "stackproof", "certify", copied.matrix, "--out", copied.folder, *words]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            line, stdout=full, stderr=subprocess.PIPE, env=usual_variables(cache), check=False, text=True
        )
    assert ended.returncode == 3
    assert "standard output cannot be written: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_log_that_cannot_be_written_does_not_stop_the_work(copied: Certified, cache: Path) -> None:
    """A pipe whose reader has gone, or a full disk, where progress and errors go."""
    line = [sys.executable, "-m", "stackproof", "certify", copied.matrix, "--out", copied.folder, "--verbose"]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=full, env=usual_variables(cache), check=False)
    assert ended.returncode == 0
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=usual_variables(cache)) as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.wait(60) == 0
    assert read_report(copied.folder)["totals"]["certified"] == 2


def test_environments_on_a_full_disk(mounted: Callable[[str], Path], command: CommandLine, tmp_path: Path) -> None:
    cache = mounted("6m")
    matrix = write_matrix(tmp_path, {"jax": ["0.10.2"]})
    ended = command.run("certify", matrix, "--out", tmp_path / "out", STACKPROOF_CACHE=str(cache))
    assert ended.code == 3
    assert str(cache) in ended.err
    assert "no space is left on the disk" in ended.out
    assert "STACKPROOF_CACHE" in ended.out
    assert read_report(tmp_path / "out")["cells"][0]["verdict"] == "untested"


def test_read_only_output_folder(mounted: Callable[[str], Path], command: CommandLine, tmp_path: Path) -> None:
    disk = mounted("2m")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    ended = command.run("certify", write_matrix(tmp_path, {"jax": ["0.10.2"]}), "--out", disk / "out")
    assert ended.code == 3
    assert str(disk / "out") in ended.err
    assert "Read-only file system" in ended.err
    assert "another with --out" in ended.err
    assert "Traceback" not in ended.err


def test_certified_folder_that_became_read_only(
    copied: Certified, mounted: Callable[[str], Path], command: CommandLine
) -> None:
    out = mounted("4m") / "out"
    shutil.copytree(copied.folder, out)
    subprocess.run(["mount", "-o", "remount,ro", out.parent], check=True)
    for words in (("certify", copied.matrix, "--out", out), ("report", out)):
        ended = command.run(*words)
        assert ended.code == 3
        assert str(out) in ended.err
        assert "Traceback" not in ended.err
    assert_no_half_report(out)
    planned = command.run("plan", copied.matrix, "--out", out, "--json")
    assert planned.code == 0, planned.err
    assert planned.json["totals"]["runs_reused"] == 2


def test_cache_that_another_comparison_uses(command: CommandLine, tmp_path: Path) -> None:
    write_matrix(tmp_path, {"jax": ["0.10.2"]})
    cache = tmp_path / "cache"
    with sole_use(cache / "compare"):
        ended = command.run("compare", tmp_path / "mlp.toml", "--backends", "jax", STACKPROOF_CACHE=str(cache))
    assert ended.code == 3
    assert f"process {os.getpid()}" in ended.err
    assert "set STACKPROOF_CACHE to another folder" in ended.err
    assert "--out" not in ended.err


def test_file_where_the_output_folder_should_be(command: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    ended = command.run("certify", write_matrix(tmp_path, {"jax": ["0.10.2"]}), "--out", tmp_path / "out")
    assert ended.code == 3
    assert str(tmp_path / "out") in ended.err
    assert "Traceback" not in ended.err
    assert (tmp_path / "out").read_text() == "mine"


def assert_no_half_report(out: Path) -> None:
    """Every report file that is there is whole, and no draft of one is left."""
    if (out / "report.json").exists():
        json.loads((out / "report.json").read_bytes())
    if (out / "report.html").exists():
        assert (out / "report.html").read_text().rstrip().endswith("</html>")
    if (out / "junit.xml").exists():
        assert (out / "junit.xml").read_text().rstrip().endswith("</testsuites>")
    drafts = [path for path in out.rglob(".*") if path.name != ".lock" and "work" not in path.parts]
    assert drafts == []


def _fill(folder: Path, free: int) -> None:
    with (folder / "filler").open("wb") as file:
        file.write(b"\0" * (shutil.disk_usage(folder).free - free))

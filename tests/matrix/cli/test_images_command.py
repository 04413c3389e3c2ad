"""`stackproof images`, as far as it needs no engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from stackproof.matrix import cli

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = f"sha256:{'0' * 64}"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, with an engine that does not answer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setenv("STACKPROOF_CACHE", str(tmp_path / "cache"))


def test_the_list_shows_digest_source_and_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["images", "list"]) == 0
    shown = capsys.readouterr().out
    assert "debian:bookworm  Python 3.11  glibc 2.36\n    Debian bookworm, made here  not pinned\n" in shown
    assert cli.main(["images", "list", "--json"]) == 0
    pins = json.loads(capsys.readouterr().out)["pins"]
    assert {pin["name"] for pin in pins} >= {"debian:bullseye", "debian:trixie"}
    assert all(pin["source"] and pin["date"] for pin in pins)


def test_the_file_of_the_folder_lies_over_the_pins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = (
        f'[[base]]\nname = "team:a"\nkind = "registry"\nrepository = "team/a"\ndigest = "{DIGEST}"\npython = "3.12"\n'
    )
    (tmp_path / "bases.toml").write_text(block)
    assert cli.main(["images", "list"]) == 0
    assert f"team:a  Python 3.12  glibc not said\n    team/a  {DIGEST}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["base"],
        ["base", "debian:bookwurm"],
        ["base", "debian:bookworm", "--include", "a;id"],
        ["base", "debian:bookworm", "--check"],
        ["list", "debian:bookworm"],
        ["list", "--include", "git"],
        ["list", "--pins", "none.toml"],
        ["update"],
        ["update", "--pins", "none.toml"],
        ["update", "nothing:here"],
        ["push", "a/b:c"],
        ["push", "a/b:c", "a b"],
        ["push", "a/b:c", "registry.example/a:$(id)"],
        ["push", "a/b:c\nd", "registry.example/a"],
        ["push", "a", "b", "c"],
        ["pull", "registry.example/a"],
        ["pull", "registry.example/a:tag"],
        ["pull", "registry.example/a@sha256:1"],
        ["pull", f"../a@{DIGEST}"],
        ["pull", f"a/b@{DIGEST}", "c"],
        ["pull", "--engine", "docker", f"a/b@{DIGEST}", "c"],
        ["update", "--pins", "own.toml", "nothing:here"],
        ["pull"],
    ],
    ids=" ".join,
)
def test_wrong_words_are_told_and_end_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["images", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("stackproof: ")


@pytest.mark.parametrize(
    "words",
    [
        ["base", "debian:bookworm"],
        ["push", "a/b:c", "registry.example/a"],
        ["pull", f"a/b@{DIGEST}"],
        ["pull", "--engine", "docker", f"a/b@{DIGEST}"],
        ["update", "nvidia/cuda:13.0.1-devel-ubuntu24.04", "--check"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_without_an_engine_it_is_said_where_none_answers(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["images", *words, "--quiet"]) == 3
    said = capsys.readouterr()
    assert "no docker answers" in said.err
    assert "none.sock" in said.err

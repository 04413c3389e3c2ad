"""`stackproof build`: its words, what it shows, and its exit codes; with stand-ins for engine and index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from image_fleet import AWAY, BASE, GONE, LocalImages, put_in_place
from numpy_fleet import PYTHON, Fleet

from stackproof.matrix import cli
from stackproof.matrix.cli.parser import make_parser

if TYPE_CHECKING:
    from pathlib import Path

TAG = f"py{PYTHON.replace('.', '')}"
OLD, NEW = f"torch1.0-{TAG}", f"torch2.0-{TAG}"
SPEC = """
[model]
kind = "mlp"
inputs = 3
hidden = []
outputs = 2
"""
MATRIX = f"""
specs = ["tiny.toml"]
[axes]
torch = ["1.0", "2.0"]
python = ["{PYTHON}"]
"""
BASES = f'[[base]]\nname = "team:base"\nkind = "debian"\nsuite = "bookworm"\npython = "{PYTHON}"\n'


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(SPEC)
    (tmp_path / "matrix.toml").write_text(MATRIX)
    (tmp_path / "bases.toml").write_text(BASES)
    return tmp_path / "matrix.toml"


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> LocalImages:
    made = LocalImages()
    put_in_place(monkeypatch, made)
    return made


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fleet:
    return Fleet(monkeypatch, tmp_path / "none", tmp_path / "out")


def build(fleet: Fleet, matrix: Path, *words: str) -> int:
    return cli.main(["build", str(matrix), "--out", str(fleet.folder), "--quiet", *words])


def test_name_size_digest_and_layers_are_shown(
    fleet: Fleet, images: LocalImages, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(fleet, matrix, "--cell", f"{OLD}*") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == OLD
    assert lines[1].startswith(f"  stackproof/{OLD}:0  3.0 KiB, built in ")
    assert lines[2] == f"  content sha256:{'2' * 64}"
    assert [line.split() for line in lines[3:]] == [["2.0", "KiB", "base"], ["1.0", "KiB", "framework"]]
    assert build(fleet, matrix, "--cell", f"{OLD}*") == 0
    assert "3.0 KiB, nothing changed, reused" in capsys.readouterr().out
    assert images.built == [OLD, OLD]


def test_one_document_is_printed_where_json_is_asked_for(
    fleet: Fleet, images: LocalImages, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build(fleet, matrix, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made.keys() == {"schema_version", "engine", "images"}
    assert [(image["stack"], image["built"]) for image in made["images"]] == [(OLD, True), (NEW, True)]
    assert images.built == [OLD, NEW]


@pytest.mark.parametrize(
    ("unresolvable", "fails", "code"),
    [
        ([], [], 0),
        (["1.0"], [], 1),
        (["1.0", "2.0"], [], 1),
        ([], ["build"], 3),
        (["1.0"], ["build"], 1),
    ],
    ids=["all built", "one without lock", "none with lock", "engine failed", "both"],
)
def test_the_exit_code_is_the_gravest(
    fleet: Fleet, images: LocalImages, matrix: Path, *, unresolvable: list[str], fails: list[str], code: int
) -> None:
    fleet.unresolvable.update(unresolvable)
    images.fails.update(dict.fromkeys(fails, AWAY))
    assert build(fleet, matrix) == code


def test_what_was_not_built_is_told_with_its_reason(
    fleet: Fleet, images: LocalImages, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.unresolvable.add("1.0")
    images.fails["build"] = AWAY
    build(fleet, matrix)
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[2]) == (OLD, NEW)
    assert "not built: " in lines[1]
    assert "there is no such version" in lines[1]
    assert lines[3:] == ["  not built: the engine ended meanwhile.", "    Start it again."]


def test_folders_are_written_in_place_of_building(
    fleet: Fleet, images: LocalImages, matrix: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "made"
    assert build(fleet, matrix, "--write", str(made)) == 0
    assert f"  written to {made / OLD}\n" in capsys.readouterr().out
    assert (made / NEW / "Dockerfile").read_text().startswith(f"FROM {BASE.reference}\n")
    assert images.built == []
    images.fails["files"] = GONE
    assert build(fleet, matrix, "--write", str(made)) == 1
    images.fails["files"] = AWAY
    assert build(fleet, matrix, "--write", str(made)) == 3


def test_words_of_an_engine_cannot_steer_a_terminal(
    fleet: Fleet, images: LocalImages, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images.fails["build"] = type(AWAY)("\x1b[2Jthe engine said \x07this.")
    assert build(fleet, matrix) == 3
    shown = capsys.readouterr().out
    assert "not built: the engine said this." in shown
    assert "\x1b" not in shown


def test_a_python_that_no_base_has_is_a_fault_of_the_matrix(
    fleet: Fleet, images: LocalImages, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix.write_text(MATRIX.replace(f'"{PYTHON}"', '"3.10"'))
    assert build(fleet, matrix) == 2
    said = capsys.readouterr().err
    assert "axes.python" in said
    assert "no base image has Python 3.10" in said
    assert images.built == []


def test_without_an_engine_that_answers_it_is_said_what_to_do(
    fleet: Fleet, matrix: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert build(fleet, matrix) == 3
    said = capsys.readouterr().err
    assert f"{tmp_path}/none.sock" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "engine"),
    [
        (["certify", "m.toml"], "venv"),
        (["plan", "m.toml"], "venv"),
        (["build", "m.toml"], "docker"),
        (["images", "list"], "docker"),
        (["certify", "m.toml", "--engine", "podman"], "podman"),
        (["plan", "m.toml", "--engine", "docker"], "docker"),
        (["build", "m.toml", "--engine", "podman"], "podman"),
        (["images", "base", "a", "--engine", "podman"], "podman"),
    ],
    ids=" ".join,
)
def test_each_command_has_its_engine(words: list[str], engine: str) -> None:
    assert make_parser().parse_args(words).engine == engine


@pytest.mark.parametrize(
    "words",
    [
        ["build"],
        ["build", "m.toml", "--engine", "venv"],
        ["certify", "m.toml", "--engine", "containerd"],
        ["certify", "m.toml", "--eng", "docker"],
        ["plan", "m.toml", "--engine"],
        ["images"],
        ["images", "prune"],
        ["images", "list", "--engine", "venv"],
        ["compare", "s.toml", "--engine", "docker"],
    ],
    ids=" ".join,
)
def test_other_words_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        make_parser().parse_args(words)
    assert ended.value.code == 2
    assert "usage: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["pull", "--engine", "podman", "a/b@c"], ["a/b@c"]),
        (["--engine", "podman", "pull", "a/b@c"], ["a/b@c"]),
        (["push", "a", "--engine", "podman", "b"], ["a", "b"]),
        (["base", "--engine", "podman", "a", "--include", "git", "b"], ["a", "b"]),
        (["list", "--engine", "podman"], []),
    ],
    ids=" ".join,
)
def test_options_of_images_may_stand_before_between_and_after_its_names(words: list[str], names: list[str]) -> None:
    options = make_parser().parse_args(["images", *words])
    assert (options.engine, options.names) == ("podman", names)


def test_an_option_that_is_none_is_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        make_parser().parse_args(["images", "list", "--engine", "podman", "a", "--chekc"])
    assert ended.value.code == 2
    assert "unrecognized arguments: --chekc" in capsys.readouterr().err


def test_images_takes_names_and_repeated_packages() -> None:
    words = ["images", "base", "a", "b", "--include", "git", "--include", "libgomp1", "--pins", "own.toml"]
    options = make_parser().parse_args(words)
    assert (options.action, options.names, options.include) == ("base", ["a", "b"], ["git", "libgomp1"])
    assert (str(options.pins), options.check, options.json, options.quiet) == ("own.toml", False, False, False)
    assert make_parser().parse_args(["images", "list"]).include == []

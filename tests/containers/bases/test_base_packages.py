"""System packages on a base of a registry, and bases that cannot be made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from dockerfiles import instructions
from hypothesis import given
from hypothesis import strategies as st

from stackproof.compat.errors import InputError, OutsideError
from stackproof.containers.bases.debian import archive_of, find_made, make_debian
from stackproof.containers.bases.installing import install_dockerfile
from stackproof.containers.bases.pins import load_pins

if TYPE_CHECKING:
    from pathlib import Path

PARENT = f"nvidia/cuda@sha256:{'0' * 64}"
TRIXIE = load_pins()["debian:trixie"]


def test_packages_are_installed_in_one_step_that_leaves_no_lists() -> None:
    said = instructions(install_dockerfile(PARENT, ["python3", "g++", "g++"]))
    assert said[0] == ("FROM", PARENT)
    assert [word for word, _ in said] == ["FROM", "USER", "RUN"]
    script = json.loads(said[2][1])[-1]
    assert "install -y --no-install-recommends g++ python3 && apt-get clean" in script
    assert "/var/lib/apt/lists" in script


@given(name=st.text(max_size=20) | st.sampled_from(["a b", "a;id", "a\nRUN id", "$(id)", "--yes", "a=1", "a'", 'a"']))
def test_only_a_name_of_a_package_gets_into_the_step(name: str) -> None:
    try:
        text = install_dockerfile(PARENT, [name])
    except InputError:
        return
    assert f" --no-install-recommends {name} && " in json.loads(instructions(text)[2][1])[-1]
    assert not set(name) & set(" ;\n$'\"\\&|<>`=")


def test_without_mmdebstrap_the_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OutsideError, match=r"mmdebstrap was not found\. Install it"):
        make_debian(TRIXIE, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_fails_is_told_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mmdebstrap"
    program.write_text('#!/bin/sh\nfor last; do :; done\necho x > "$last"\necho E: no such release >&2\nexit 7\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(OutsideError, match="E: no such release"):
        make_debian(TRIXIE, tmp_path / "bases")
    assert not list((tmp_path / "bases").glob("*.new"))
    assert find_made(TRIXIE, tmp_path / "bases") is None


def test_what_makes_a_base_another_one_gives_it_another_file(tmp_path: Path) -> None:
    other = TRIXIE.with_packages(("libgomp1",))
    assert archive_of(TRIXIE, tmp_path) != archive_of(other, tmp_path)
    assert archive_of(other, tmp_path) == archive_of(TRIXIE.with_packages(("libgomp1",)), tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"digest": 1}', "null"])
def test_a_broken_record_is_none(tmp_path: Path, text: str) -> None:
    archive_of(TRIXIE, tmp_path).with_suffix(".json").write_text(text)
    assert find_made(TRIXIE, tmp_path) is None

"""Pins of bases: what stackproof brings, what a user's file says over it, and everything that may be wrong there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.compat.errors import InputError
from stackproof.containers.bases.pins import load_pins, own_pins

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = f"sha256:{'0a' * 32}"
OWN = f"""
[[base]]
name = "team:base"
kind = "registry"
repository = "registry.example:5000/team/base"
tag = "2026-11"
digest = "{DIGEST}"
python = "3.12"
packages = ["python3", "libgomp1"]
interpreter = "/opt/python/bin/python3"
source = "our own"
date = "2026-11-30"

[[base]]
name = "debian:bookworm"
kind = "debian"
suite = "bookworm"
mirror = "http://mirror.example/debian"
python = "3.11"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "bases.toml"
    path.write_text(text, encoding="utf-8")
    return path


def faults_of(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        own_pins(written(folder, text))
    return [f"{fault.where}: {fault.what}" for fault in caught.value.faults]


def test_the_pins_that_come_along_are_sound_and_say_where_they_are_from() -> None:
    pins = load_pins()
    assert {"debian:bullseye", "debian:bookworm", "debian:trixie"} <= set(pins)
    for pin in pins.values():
        assert pin.source
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", pin.date)
        assert re.fullmatch(r"3\.\d+", pin.python)
        if pin.kind == "registry":
            assert pin.digest
            assert pin.tag
            assert pin.name == f"{pin.repository}:{pin.tag}"
            assert "." not in pin.repository.partition("/")[0]


def test_a_file_of_the_users_own_lies_over_them(tmp_path: Path) -> None:
    pins = load_pins(written(tmp_path, OWN))
    assert pins["team:base"].packages == ("python3", "libgomp1")
    assert pins["team:base"].interpreter == "/opt/python/bin/python3"
    assert pins["debian:bookworm"].mirror == "http://mirror.example/debian"
    assert pins["debian:trixie"] == load_pins()["debian:trixie"]
    assert set(own_pins(written(tmp_path, OWN))) == {"team:base", "debian:bookworm"}


def test_a_digest_is_a_pin_by_itself() -> None:
    pin = load_pins().find(f"registry.example/team/base@{DIGEST}")
    assert (pin.kind, pin.repository, pin.digest, pin.python) == ("registry", "registry.example/team/base", DIGEST, "")


@pytest.mark.parametrize(
    "name",
    ["debian:bookwurm", "", "debian", "team/base:tag", "x@sha256:1", f"../x@{DIGEST}", f"$(id)@{DIGEST}", "a\nb"],
)
def test_a_name_that_no_pin_has_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        load_pins().find(name)


def test_a_near_name_is_told() -> None:
    with pytest.raises(InputError, match="debian:bookworm"):
        load_pins().find("debian:bookwurm")


def test_further_packages_come_to_those_of_the_pin() -> None:
    pin = load_pins()["debian:trixie"]
    assert pin.with_packages(("libgomp1", "git", "git")).packages == ("git", "libgomp1")
    with pytest.raises(InputError, match=r"image\.packages"):
        pin.with_packages(("libgomp1; id",))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('name = "a\\nb"', "base[0].name: "),
        ('name = "A B"', "base[0].name: "),
        ('kind = "image"', 'base[0].kind: must be "debian" or "registry"'),
        ('python = "2.7"', "base[0].python: "),
        ('python = "3.11.2"', "base[0].python: "),
        ("python = 3.11", "base[0].python: must be text in quotes"),
        ('glibc = "new"', "base[0].glibc: "),
        ('interpreter = "python3"', "base[0].interpreter: "),
        ('interpreter = "/usr/bin/../x"', "base[0].interpreter: "),
        ('digest = "sha256:12"', "base[0].digest: "),
        ('digest = "latest"', "base[0].digest: "),
        ('suite = "book worm"', "base[0].suite: "),
        ('mirror = "http://user:secret@mirror.example"', "base[0].mirror: "),
        ('mirror = "file:///etc"', "base[0].mirror: "),
        ('packages = ["g++", "a b"]', "base[0].packages[1]: "),
        ('packages = "g++"', "base[0].packages: must be a list"),
        ('repository = "team/base"', 'base[0].repository: is of kind = "registry"'),
        ('source = "a\\nb"', "base[0].source: "),
        ('colour = "red"', "base[0].colour: unknown key"),
    ],
)
def test_each_fault_is_named_with_its_key(tmp_path: Path, line: str, fault: str) -> None:
    sound = {"name": '"x:y"', "kind": '"debian"', "suite": '"trixie"', "python": '"3.13"'}
    key, _, value = line.partition(" = ")
    lines = {**sound, key: value}
    found = faults_of(tmp_path, "[[base]]\n" + "\n".join(f"{key} = {value}" for key, value in lines.items()))
    assert len(found) == 1
    assert found[0].startswith(fault)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("[[base]]", ["name", "kind", "python", "suite"]),
        ('[[base]]\nname = "a"\nkind = "registry"\npython = "3.11"', ["repository", "digest"]),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, text: str, keys: list[str]) -> None:
    found = faults_of(tmp_path, text)
    assert sorted(fault.partition(":")[0] for fault in found) == sorted(f"base[0].{key}" for key in keys)
    assert all("missing" in fault for fault in found)


def test_a_name_given_twice_is_a_fault(tmp_path: Path) -> None:
    block = '[[base]]\nname = "a"\nkind = "debian"\nsuite = "trixie"\npython = "3.13"\n'
    assert faults_of(tmp_path, block * 2) == ["base[1].name: 'a' is there already: remove one of them"]


@pytest.mark.parametrize("text", ["base = 1", "[base]", "[[base", "base = [[[", "bases = []", '"\\x"', "a = 1\na = 2"])
def test_what_is_no_file_of_pins_is_refused(tmp_path: Path, text: str) -> None:
    assert faults_of(tmp_path, text)


def test_a_file_that_is_not_there_or_no_text_or_huge_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            own_pins(path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="no valid TOML"):
        own_pins(tmp_path / "bytes.toml")
    (tmp_path / "huge.toml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(InputError, match="larger than 1 MiB"):
        own_pins(tmp_path / "huge.toml")


@given(name=st.text(max_size=40))
def test_any_name_is_a_pin_or_refused(name: str) -> None:
    pins = load_pins()
    if name in pins:
        return
    with pytest.raises(InputError) as caught:
        pins.find(name)
    assert str(caught.value).isprintable()

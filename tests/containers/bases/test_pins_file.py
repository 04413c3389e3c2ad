"""A file of pins is renewed in its text: the one pin changes, and nothing else."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING

import pytest

from stackproof.compat.errors import InputError
from stackproof.containers.bases.pins import load_pins, own_pins
from stackproof.containers.bases.renew import Renewal
from stackproof.containers.bases.write import renew_text

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = f"sha256:{'0' * 64}", f"sha256:{'1' * 64}"
FILE = f"""# Ours.
[[base]]
name = "team:a"  # the first
kind = "registry"
repository = "team/a"
tag = "1"
digest = "{OLD}"
python = "3.11"
date = "2026-01-01"

# The second has the same digest.
[[base]]
name = "team:b"
kind = "registry"
repository = "team/b"
digest = "{OLD}"
tag = "1"
python = "3.11"
"""


def renewal(folder: Path, text: str, name: str) -> Renewal:
    path = folder / "bases.toml"
    path.write_text(text)
    return Renewal(load_pins(path).find(name), NEW, "2026-11-30")


def test_only_the_pin_that_moved_changes(tmp_path: Path) -> None:
    changed = renew_text(FILE, renewal(tmp_path, FILE, "team:a"))
    before, after = FILE.splitlines(), changed.splitlines()
    different = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert different == [
        (f'digest = "{OLD}"', f'digest = "{NEW}"'),
        ('date = "2026-01-01"', 'date = "2026-11-30"'),
    ]


def test_keys_that_are_missing_come_after_the_name(tmp_path: Path) -> None:
    changed = renew_text(FILE, renewal(tmp_path, FILE, "team:b"))
    tables = {table["name"]: table for table in tomllib.loads(changed)["base"]}
    assert tables["team:b"]["digest"] == NEW
    assert tables["team:b"]["date"] == "2026-11-30"
    assert tables["team:a"]["digest"] == OLD
    assert "# The second has the same digest." in changed


@pytest.mark.parametrize("text", ["", FILE])
def test_a_pin_that_the_file_lacks_comes_at_its_end_whole(tmp_path: Path, text: str) -> None:
    changed = renew_text(text, renewal(tmp_path, text, "debian:trixie"))
    assert changed.startswith(text.rstrip())
    (tmp_path / "bases.toml").write_text(changed)
    pin = own_pins(tmp_path / "bases.toml")["debian:trixie"]
    assert (pin.digest, pin.suite, pin.python) == (NEW, "trixie", "3.13")


def test_a_pin_of_a_registry_is_written_whole_too(tmp_path: Path) -> None:
    name = next(name for name, pin in load_pins().items() if pin.packages)
    (tmp_path / "new.toml").write_text(renew_text("", renewal(tmp_path, "", name)))
    before, after = load_pins()[name], own_pins(tmp_path / "new.toml")[name]
    assert (after.repository, after.tag, after.packages) == (before.repository, before.tag, before.packages)


@pytest.mark.parametrize(
    "python", ["3.8", "3.09", "3.100", "2.7", "3.11.2", "3.1\u0661", "\u0663.11", "3.11\\n", "3", "3.", "4.0"]
)
def test_a_python_is_one_that_stacks_can_have(tmp_path: Path, python: str) -> None:
    (tmp_path / "own.toml").write_text(FILE.replace('"3.11"', f'"{python}"'))
    with pytest.raises(InputError, match="is no Python that stacks can have"):
        own_pins(tmp_path / "own.toml")


def test_a_pipe_is_no_file_of_pins(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is no regular file"):
        own_pins(tmp_path / "pipe")


def test_a_form_that_is_not_changed_here_is_said(tmp_path: Path) -> None:
    text = 'base = [{name = "a", kind = "debian", suite = "trixie", python = "3.13"}]\n'
    with pytest.raises(InputError, match="by hand"):
        renew_text(text, renewal(tmp_path, text, "a"))


def test_a_pin_moves_when_the_digests_differ(tmp_path: Path) -> None:
    found = renewal(tmp_path, FILE, "team:a")
    assert found.moved
    assert not Renewal(found.pin, OLD, "2026-11-30").moved

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from small_wheels import write_wheel

from stackproof.compat.errors import OutsideError, StoppedError, UnsolvableError
from stackproof.compat.lock import Lock, Package
from stackproof.containers.wheels import fetch_wheels

if TYPE_CHECKING:
    from pathlib import Path

OLD = "cp311-cp311-manylinux_2_17_x86_64"
NEW = "cp311-cp311-manylinux_2_34_x86_64"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, the only place that packages come from."""
    folder = tmp_path / "links"
    folder.mkdir()
    for name in (
        "UV_DEFAULT_INDEX",
        "UV_INDEX",
        "PIP_INDEX_URL",
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "UV_OFFLINE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    return folder


def make_lock(*packages: Package, platform: str = "manylinux_2_36_x86_64", python: str = "3.11.2") -> Lock:
    return Lock("torch1-py311", python, platform, packages, "cpu", "")


def test_a_wheel_is_fetched_once_and_then_found_without_the_index(index: Path, tmp_path: Path) -> None:
    digest = write_wheel(index, "one", "1.0")
    package = Package("one", "1.0", (digest,))
    first = fetch_wheels(make_lock(package), [package], tmp_path / "cache")
    (index / "one-1.0-py3-none-any.whl").unlink()
    assert fetch_wheels(make_lock(package), [package], tmp_path / "cache") == first
    assert first["one"].name == "one-1.0-py3-none-any.whl"


def test_the_wheel_is_for_the_image_and_not_for_this_machine(index: Path, tmp_path: Path) -> None:
    digests = (
        write_wheel(index, "one", "1.0", "cp39-cp39-manylinux_2_17_x86_64"),
        write_wheel(index, "one", "1.0", OLD),
        write_wheel(index, "one", "1.0", "cp314-cp314-manylinux_2_17_x86_64"),
        write_wheel(index, "one", "1.0", "cp39-cp39-manylinux_2_17_aarch64"),
    )
    package = Package("one", "1.0", digests)
    for python, platform, wanted in (
        ("3.9.2", "manylinux_2_31_x86_64", "cp39-cp39-manylinux_2_17_x86_64"),
        ("3.11.2", "manylinux_2_36_x86_64", OLD),
        ("3.9.2", "manylinux_2_31_aarch64", "cp39-cp39-manylinux_2_17_aarch64"),
    ):
        lock = make_lock(package, platform=platform, python=python)
        assert fetch_wheels(lock, [package], tmp_path / "cache")["one"].name == f"one-1.0-{wanted}.whl"


def test_the_choice_does_not_depend_on_what_was_fetched_for_an_older_system(index: Path, tmp_path: Path) -> None:
    package = Package("one", "1.0", (write_wheel(index, "one", "1.0", OLD), write_wheel(index, "one", "1.0", NEW)))
    older = make_lock(package, platform="manylinux_2_31_x86_64")
    newer = make_lock(package, platform="manylinux_2_36_x86_64")
    assert fetch_wheels(older, [package], tmp_path / "cache")["one"].name == f"one-1.0-{OLD}.whl"
    assert fetch_wheels(newer, [package], tmp_path / "cache")["one"].name == f"one-1.0-{NEW}.whl"


def test_another_file_than_the_locked_one_is_not_taken(index: Path, tmp_path: Path) -> None:
    write_wheel(index, "one", "1.0")
    package = Package("one", "1.0", (f"sha256:{'0' * 64}",))
    with pytest.raises(OutsideError, match="other files than those locked"):
        fetch_wheels(make_lock(package), [package], tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.whl"))


def test_a_wheel_that_is_gone_is_named(index: Path, tmp_path: Path) -> None:
    package = Package("one", "1.0", (f"sha256:{'0' * 64}",))
    with pytest.raises(UnsolvableError, match=r"(?s)do not have what was locked.*one==1.0"):
        fetch_wheels(make_lock(package), [package], tmp_path / "cache")
    assert index.is_dir()


def test_without_network_what_was_not_fetched_is_named(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Package("one", "1.0", (write_wheel(index, "one", "1.0"),))
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(OutsideError, match="not fetched before: one"):
        fetch_wheels(make_lock(package), [package], tmp_path / "cache")


def test_a_damaged_wheel_is_fetched_again(index: Path, tmp_path: Path) -> None:
    package = Package("one", "1.0", (write_wheel(index, "one", "1.0"),))
    kept = fetch_wheels(make_lock(package), [package], tmp_path / "cache")["one"]
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-20])
    assert fetch_wheels(make_lock(package), [package], tmp_path / "cache")["one"].read_bytes() == whole


def test_a_wheel_with_one_bit_flipped_is_fetched_again(index: Path, tmp_path: Path) -> None:
    package = Package("one", "1.0", (write_wheel(index, "one", "1.0"),))
    kept = fetch_wheels(make_lock(package), [package], tmp_path / "cache")["one"]
    whole = kept.read_bytes()
    kept.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    assert fetch_wheels(make_lock(package), [package], tmp_path / "cache")["one"].read_bytes() == whole


def test_settings_of_pip_itself_change_nothing(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Package("one", "1.0", (write_wheel(index, "one", "1.0"),))
    (tmp_path / "pip.conf").write_text("[global]\nno-binary = :all:\nrequire-virtualenv = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_ONLY_BINARY", ":none:")
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "missing.txt"))
    assert "one" in fetch_wheels(make_lock(package), [package], tmp_path / "cache")


def test_it_stops_when_told(index: Path, tmp_path: Path) -> None:
    package = Package("one", "1.0", (write_wheel(index, "one", "1.0"),))
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(StoppedError):
        fetch_wheels(make_lock(package), [package], tmp_path / "cache", cancel)
    assert not list((tmp_path / "cache").rglob("*.whl"))

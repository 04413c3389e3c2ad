"""Installed packages against the files that really lie there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from shared_libraries import install

from stackproof.containers.inside.records import compare, read_installed
from stackproof.containers.inside.walking import walk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    (folder / "one").mkdir(parents=True)
    (folder / "one/__init__.py").write_text("words = 1\n")
    install(folder, "One_Thing", "1.0", [folder / "one/__init__.py"])
    record = folder / "One_Thing-1.0.dist-info/RECORD"
    record.write_text(record.read_text() + "One_Thing-1.0.dist-info/METADATA,,\nOne_Thing-1.0.dist-info/INSTALLER,,\n")
    return folder


def differences(site: Path) -> dict[str, list[str]]:
    entries = {one.path: one for one in walk(str(site.parent), frozenset(), [])}
    found = compare(read_installed([str(site)]), entries)
    return {kind: [path.removeprefix(f"{site}/") for path in paths] for kind, paths in found.items() if paths}


def test_a_package_as_it_was_installed_fits(site: Path) -> None:
    assert read_installed([str(site)]).versions == {"one-thing": "1.0"}
    assert differences(site) == {}


def test_what_python_writes_itself_is_no_difference(site: Path) -> None:
    (site / "one/__pycache__").mkdir()
    (site / "one/__pycache__/__init__.cpython-311.pyc").write_bytes(b"compiled")
    (site / "_virtualenv.pth").write_text("import _virtualenv")
    (site / "One_Thing-1.0.dist-info/REQUESTED").touch()
    assert differences(site) == {}


def test_a_file_that_is_gone_or_of_another_size_or_from_nowhere_is_named(site: Path) -> None:
    (site / "one/__init__.py").write_text("words = 1000\n")
    (site / "one/more.py").write_text("")
    (site / "One_Thing-1.0.dist-info/INSTALLER").unlink()
    assert differences(site) == {
        "missing": ["One_Thing-1.0.dist-info/INSTALLER"],
        "altered": ["one/__init__.py"],
        "unrecorded": ["one/more.py"],
    }


def test_a_file_that_several_packages_bring_fits_where_one_record_does(site: Path) -> None:
    install(site, "other", "2.0", [site / "one/__init__.py"])
    record = site / "other-2.0.dist-info/RECORD"
    record.write_text(
        record.read_text().replace(",10\n", ",99\n")
        + "other-2.0.dist-info/METADATA,,\nother-2.0.dist-info/INSTALLER,,\n"
    )
    assert differences(site) == {}


def test_a_program_beside_the_packages_is_looked_for_where_its_record_says(site: Path) -> None:
    record = site / "One_Thing-1.0.dist-info/RECORD"
    record.write_text(record.read_text() + "../bin/one,sha256=x,3\n")
    assert differences(site) == {"missing": [str(site.parent / "bin/one")]}
    (site.parent / "bin").mkdir()
    (site.parent / "bin/one").write_text("one")
    assert differences(site) == {}


def test_packages_without_a_record_or_a_name_are_faults_and_stop_nothing(site: Path) -> None:
    (site / "two-2.0.dist-info").mkdir()
    (site / "two-2.0.dist-info/METADATA").write_text("Name: two\nVersion: 2.0\n\n")
    (site / "three-3.0.dist-info").mkdir()
    (site / "three-3.0.dist-info/METADATA").write_bytes(b"\xff\xfe")
    found = read_installed([str(site), str(site / "absent"), str(site)])
    assert found.versions == {"one-thing": "1.0", "two": "2.0"}
    assert {path.rpartition("/")[2] for path in found.faults} == {"two-2.0.dist-info", "three-3.0.dist-info"}


def test_the_same_package_twice_is_a_fault(site: Path) -> None:
    install(site, "one.thing", "1.1")
    found = read_installed([str(site)])
    assert len(found.versions) == 1
    assert "twice" in "".join(found.faults.values())

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest
from shared_libraries import make_venv

from stackproof.compat.doctor.place import find_place
from stackproof.compat.errors import InputError

PROGRAM = Path(sys.executable).resolve()


def link_python(folder: Path) -> Path:
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(PROGRAM)
    return folder / "bin" / "python"


def test_the_own_environment_is_where_this_runs() -> None:
    place = find_place(None, {})
    assert place.prefix == Path(sys.prefix)
    assert place.version == platform.python_version()
    assert place.implementation == platform.python_implementation()
    assert {str(site) for site in place.sites} <= {os.path.normpath(path) for path in sys.path}


@pytest.mark.parametrize("by", ["folder", "python"])
def test_a_venv_is_known_by_its_folder_and_by_its_python(tmp_path: Path, by: str) -> None:
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    site = make_venv(tmp_path, minor)
    python = link_python(tmp_path)
    place = find_place(tmp_path if by == "folder" else python, {})
    assert place.prefix == tmp_path
    assert place.version == platform.python_version()
    assert place.sites == (site,)
    assert place.unsure == ()


def test_a_python_that_does_not_run_leaves_what_is_written(tmp_path: Path) -> None:
    site = make_venv(tmp_path, "3.9")
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/nowhere/python\n")
    place = find_place(tmp_path, {})
    assert (place.version, place.sites) == ("3.9.7", (site,))
    assert "does not run" in place.unsure[0]


def test_a_program_that_is_no_python_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\nexit 2\n")
    program.chmod(0o755)
    with pytest.raises(InputError, match="does not run: exit code 2; name a venv's folder or a Python"):
        find_place(program, {})


@pytest.mark.parametrize("answer", ["[1, 2, 3, 4]", "{}", "null", '["3.11"]', "[[], {}, 0, 0]"])
def test_a_python_that_answers_something_else_leaves_what_is_written(tmp_path: Path, answer: str) -> None:
    make_venv(tmp_path, "3.9")
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\necho '{answer}'\n")
    python.chmod(0o755)
    place = find_place(tmp_path, {})
    assert place.version == "3.9.7"
    assert "does not run" in place.unsure[0]


def test_the_user_s_and_the_system_s_packages_count_where_the_venv_includes_them(tmp_path: Path) -> None:
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    site = make_venv(tmp_path / "env", minor, "include-system-site-packages = true\n")
    link_python(tmp_path / "env")
    user = tmp_path / "home" / ".local" / "lib" / f"python{minor}" / "site-packages"
    user.mkdir(parents=True)
    variables = {"HOME": str(tmp_path / "home")}
    assert find_place(tmp_path / "env", variables).sites[:2] == (site, user)
    assert user not in find_place(tmp_path / "env", {**variables, "PYTHONNOUSERSITE": "1"}).sites
    (tmp_path / "env" / "pyvenv.cfg").write_text("include-system-site-packages = false\n")
    assert find_place(tmp_path / "env", variables).sites == (site,)


def test_without_a_venv_the_user_s_packages_come_first(tmp_path: Path) -> None:
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    site = make_venv(tmp_path / "env", minor)
    (tmp_path / "env" / "pyvenv.cfg").unlink()
    link_python(tmp_path / "env")
    user = tmp_path / "user" / "lib" / f"python{minor}" / "site-packages"
    user.mkdir(parents=True)
    assert find_place(tmp_path / "env", {"PYTHONUSERBASE": str(tmp_path / "user")}).sites[:2] == (user, site)


def test_the_variable_and_path_files_add_folders(tmp_path: Path) -> None:
    site = make_venv(tmp_path / "env", f"{sys.version_info.major}.{sys.version_info.minor}")
    link_python(tmp_path / "env")
    for name in ("extra", "linked"):
        (tmp_path / name).mkdir()
    (site / "more.pth").write_text(
        f"import os; os.abort()\n# words\n{tmp_path / 'linked'}\n/nowhere\n{'x' * 5000}\n\0\n"
    )
    place = find_place(tmp_path / "env", {"PYTHONPATH": f"{tmp_path / 'extra'}:"})
    assert place.sites == (tmp_path / "extra", site, tmp_path / "linked")


@pytest.mark.parametrize(
    ("make", "mend"),
    [
        (lambda _: None, "no such folder"),
        (lambda path: path.mkdir(), "no pyvenv.cfg"),
        (lambda path: path.write_text("words"), "no program"),
        (make_venv, "is missing; make the environment anew"),
        (lambda path: path.symlink_to(path), "no such folder|cannot be read"),
    ],
    ids=["nothing", "folder", "file", "no python", "circle"],
)
def test_what_is_no_environment_is_refused_with_a_mend(tmp_path: Path, make: object, mend: str) -> None:
    assert callable(make)
    make(tmp_path / "env")
    with pytest.raises(InputError, match=mend):
        find_place(tmp_path / "env", {})


def test_a_python_that_is_gone_is_named(tmp_path: Path) -> None:
    make_venv(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to("/gone/python3.11")
    with pytest.raises(InputError, match=r"points to /gone/python3\.11, which is not there"):
        find_place(tmp_path, {})


def test_a_python_for_another_machine_is_refused(tmp_path: Path) -> None:
    make_venv(tmp_path)
    (tmp_path / "bin").mkdir()
    data = bytearray(PROGRAM.read_bytes())
    data[18] = 22  # s390x
    (tmp_path / "bin" / "python").write_bytes(data)
    (tmp_path / "bin" / "python").chmod(0o755)
    with pytest.raises(InputError, match=r"s390x.*run doctor there"):
        find_place(tmp_path, {})

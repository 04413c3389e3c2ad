"""The stand-in is compiled once, whole or not at all, and says what it lacks."""

import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stackproof.compat.driver_twin import build_twin
from stackproof.compat.driver_twin.build import LIBRARIES
from stackproof.compat.errors import OutsideError


def _script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_both_libraries_are_made_and_nothing_is_left_beside_them(twin: Path) -> None:
    assert {path.name for path in twin.iterdir()} == {"libcuda.so.1", "libnvidia-ml.so.1"} == set(LIBRARIES.values())
    assert [*twin.parent.iterdir()] == [twin]


def test_it_is_compiled_once(twin: Path) -> None:
    before = (twin / "libcuda.so.1").stat().st_ino
    assert build_twin(twin.parent.parent) == twin
    assert (twin / "libcuda.so.1").stat().st_ino == before


def test_sources_compile_without_a_warning(twin: Path, tmp_path: Path) -> None:
    assert twin.is_dir()
    strict = _script(tmp_path / "strict", 'exec cc -Werror "$@"')
    assert build_twin(tmp_path / "cache", strict).is_dir()


@pytest.mark.usefixtures("twin")
def test_another_compiler_has_a_folder_of_its_own(tmp_path: Path) -> None:
    other = _script(tmp_path / "other", 'exec cc "$@"')
    assert build_twin(tmp_path, other) != build_twin(tmp_path)


@pytest.mark.usefixtures("twin")
def test_those_who_build_at_once_get_the_same_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        folders = {*pool.map(lambda _: build_twin(tmp_path), range(4))}
    assert len(folders) == 1
    assert [*(tmp_path / "driver-twin").iterdir()] == [*folders]


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OutsideError, match=r"there is no C compiler.*install gcc or clang"):
        build_twin(tmp_path)
    with pytest.raises(OutsideError, match="'icc' is not an installed C compiler"):
        build_twin(tmp_path, "icc")


def test_compiler_that_fails_leaves_nothing(tmp_path: Path) -> None:
    fails = _script(tmp_path / "fails", 'test "$1" = --version || { echo "no space" >&2; exit 1; }')
    with pytest.raises(OutsideError, match=r"(?s)fails could not compile the driver twin:.no space"):
        build_twin(tmp_path / "cache", fails)
    assert not [*(tmp_path / "cache" / "driver-twin").iterdir()]


def test_compiler_that_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="made no library of the driver twin and said: nothing"):
        build_twin(tmp_path / "cache", _script(tmp_path / "idle", "true"))


def test_compiler_that_cannot_run(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    with pytest.raises(OutsideError, match="broken cannot be run"):
        build_twin(tmp_path / "cache", str(broken))


@pytest.mark.usefixtures("twin")
def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutsideError, match="the driver twin cannot be written to"):
        build_twin(tmp_path / "file")


def test_libraries_carry_the_names_that_programs_load(twin: Path) -> None:
    command = ["python3", "-c", "import ctypes; ctypes.CDLL('libcuda.so.1'), ctypes.CDLL('libnvidia-ml.so.1')"]
    subprocess.run(command, env={**os.environ, "LD_LIBRARY_PATH": str(twin)}, check=True)

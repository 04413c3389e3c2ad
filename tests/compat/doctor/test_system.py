from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from stackproof.compat.doctor import system as system_module
from stackproof.compat.doctor.asking import Deadline
from stackproof.compat.doctor.place import Place
from stackproof.compat.doctor.search import Process, read_system
from stackproof.compat.doctor.system import read_system_components
from stackproof.compat.gather import Gathered


@pytest.fixture(autouse=True)
def _no_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(system_module, "_TOOLKIT", tmp_path / "no-toolkit")


def read(libc: str | None = None, **variables: str) -> Gathered:
    gathered = Gathered()
    place = Place(Path("/env"), Path("/env/bin/python"), "3.11.7", "CPython", libc, ())
    process = Process(read_system(variables, platform.machine()), Path(sys.executable).resolve())
    read_system_components(place, process, variables, gathered, Deadline(10))
    return gathered


def say(gathered: Gathered, name: str) -> list[str]:
    return [claim.text for claim in gathered.claims.get(name, ())]


def test_the_c_library_is_the_same_by_its_own_word_and_by_its_file() -> None:
    said = os.confstr("CS_GNU_LIBC_VERSION")
    if not said:
        pytest.skip("this system's C library is not glibc")
    assert say(read(), "glibc") == say(read(libc=said), "glibc") == [said.removeprefix("glibc ")]


def test_system_machine_and_python_are_told() -> None:
    gathered = read()
    assert say(gathered, "machine") == [platform.machine()]
    assert say(gathered, "python") == ["3.11.7"]
    assert say(gathered, "os") == [platform.freedesktop_os_release()["PRETTY_NAME"]]


def test_of_variables_only_those_that_matter_are_told() -> None:
    matter = {"LD_LIBRARY_PATH": "/a", "NCCL_DEBUG": "INFO", "TF_FORCE_GPU_ALLOW_GROWTH": "1", "JAX_PLATFORMS": "cpu"}
    others = {"SECRET_TOKEN": "x", "TF_CPP_MIN_LOG_LEVEL": "3", "MY_NCCL_DEBUG": "1", "HOME": "/root"}
    assert read(**matter, **others).env_vars == matter


def write_toolkit(folder: Path, version: str) -> Path:
    folder.mkdir()
    (folder / "version.json").write_text(f'{{"cuda": {{"name": "CUDA SDK", "version": "{version}"}}}}')
    return folder


def test_the_toolkit_is_that_of_the_variable_before_the_usual_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_module, "_TOOLKIT", write_toolkit(tmp_path / "usual", "12.1.0"))
    assert say(read(), "cuda") == ["12.1.0"]
    gathered = read(CUDA_HOME=str(write_toolkit(tmp_path / "named", "12.4.1")))
    assert say(gathered, "cuda") == ["12.4.1"]
    assert "CUDA_HOME" in gathered.claims["cuda"][0].where


def test_a_variable_that_names_no_toolkit_is_told(tmp_path: Path) -> None:
    gathered = read(CUDA_HOME=str(tmp_path / "nowhere"))
    assert say(gathered, "cuda") == []
    assert "no CUDA toolkit is there" in gathered.not_understood[0]


def test_a_compiler_on_the_path_is_asked_where_no_file_tells(tmp_path: Path) -> None:
    compiler = tmp_path / "toolkit" / "bin" / "nvcc"
    compiler.parent.mkdir(parents=True)
    compiler.write_text('#!/bin/sh\necho "Cuda compilation tools, release 12.4, V12.4.131"\n')
    compiler.chmod(0o755)
    assert say(read(PATH=str(compiler.parent)), "cuda") == ["12.4.131"]


def test_old_toolkits_tell_by_a_text(tmp_path: Path) -> None:
    (tmp_path / "version.txt").write_text("CUDA Version 10.1.243\n")
    assert say(read(CUDA_PATH=str(tmp_path)), "cuda") == ["10.1.243"]


def test_a_vendor_s_container_is_an_origin() -> None:
    assert read(NVIDIA_PYTORCH_VERSION="24.05").origins == {"container"}

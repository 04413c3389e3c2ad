from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from shared_libraries import build, cublas, cudart, cudnn, nccl

from stackproof.compat.doctor import ask_libraries

if TYPE_CHECKING:
    from pathlib import Path


def ask(*paths: Path) -> dict[str, tuple[str | None, str | None]]:
    command = [sys.executable, "-I", "-S", ask_libraries.__file__]
    given = json.dumps([str(path) for path in paths])
    ran = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    lines = (json.loads(line) for line in ran.stdout.splitlines())
    return {path.rpartition("/")[2]: (version, error) for path, version, error in lines}


@pytest.mark.parametrize(
    ("name", "source", "version"),
    [
        ("libcudart.so.12", cudart(12040), "12.4"),
        ("libcudart.so.11.0", cudart(11080), "11.8"),
        ("libnccl.so.2", nccl(22105), "2.21.5"),
        ("libnccl.so.2", nccl(2708), "2.7.8"),
        ("libcudnn.so.9", cudnn(90100), "9.1.0"),
        ("libcudnn.so.8", cudnn(8907), "8.9.7"),
        ("libcudnn_ops_infer.so.8", cudnn(8700), "8.7.0"),
        ("libcudnn_ops.so.9", "const unsigned cudnn_ops_infer_version = 0x090a02;", "9.10.2"),
        ("libcublas.so.12", cublas("cublas", 12, 4, 5), "12.4.5"),
        ("libcublasLt.so.12", cublas("cublasLt", 12, 4, 5), "12.4.5"),
        ("libcusparse.so.12", cublas("cusparse", 12, 3, 1), "12.3.1"),
        ("libnvrtc.so.12", "int nvrtcVersion(int *a, int *b) { *a = 12; *b = 6; return 0; }", "12.6"),
        ("libnvJitLink.so.12", "int nvJitLinkVersion(int *a, int *b) { *a = 12; *b = 9; return 0; }", "12.9"),
    ],
)
def test_a_library_says_its_version(tmp_path: Path, name: str, source: str, version: str) -> None:
    assert ask(build(tmp_path / name, source)) == {name: (version, None)}


def test_what_a_library_brings_along_does_not_speak_for_it(tmp_path: Path) -> None:
    graph = build(tmp_path / "libcudnn_graph.so.9", cudnn(90100))
    ops = build(tmp_path / "libcudnn_ops.so.9", "", [graph], "-rpath,$ORIGIN")
    assert ask(ops) == {"libcudnn_ops.so.9": (None, None)}


def test_a_part_that_cannot_say_its_version_is_not_loaded(tmp_path: Path) -> None:
    part = build(
        tmp_path / "libcudnn_engines_precompiled.so.9", "__attribute__((constructor)) void f() { *(int*)0 = 1; }"
    )
    assert ask(part) == {"libcudnn_engines_precompiled.so.9": (None, None)}


def test_a_crash_a_hang_and_a_broken_file_leave_the_others_alone(tmp_path: Path) -> None:
    crash = build(tmp_path / "libcudart.so.1", "__attribute__((constructor)) void f() { __builtin_trap(); }")
    hang = build(tmp_path / "libnvrtc.so.2", "int sleep(int); __attribute__((constructor)) void f() { sleep(60); }")
    broken = tmp_path / "libcublas.so.3"
    broken.write_bytes(b"\x7fELF")
    good = build(tmp_path / "libnccl.so.2", nccl(22105))
    began = time.monotonic()
    said = ask(crash, hang, broken, good)
    assert time.monotonic() - began < 8
    assert said["libnccl.so.2"] == ("2.21.5", None)
    assert "signal" in str(said["libcudart.so.1"][1])
    assert "no answer" in str(said["libnvrtc.so.2"][1])
    assert "too short" in str(said["libcublas.so.3"][1])


def test_what_a_library_prints_is_no_answer(tmp_path: Path) -> None:
    loud = 'int puts(const char *); __attribute__((constructor)) void f() { puts("[1, 2, 3]"); }'
    library = build(tmp_path / "libcudart.so.12", loud + cudart(12040))
    assert ask(library) == {"libcudart.so.12": ("12.4", None)}


def test_a_failing_function_gives_no_version(tmp_path: Path) -> None:
    library = build(tmp_path / "libcudart.so.12", "int cudaRuntimeGetVersion(int *v) { *v = 12040; return 3; }")
    assert ask(library) == {"libcudart.so.12": (None, None)}

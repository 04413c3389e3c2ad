"""The question fails loudly: no answer is taken from anything but a runtime that met the stand-in."""

import shutil
import subprocess
from pathlib import Path

import pytest

from stackproof.compat.driver_twin import RuntimeAnswer, ask_runtime
from stackproof.compat.errors import InputError, OutsideError

RUNTIME = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static int level(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*ask)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : 0, version = 0;
    return ask ? ask(&version), version : 0;
}
int cudaGetDeviceCount(int *count) { *count = 0; BODY }
const char *cudaGetErrorName(int code) { return code == 35 ? "cudaErrorInsufficientDriver" : "cudaErrorOther"; }
int cudaRuntimeGetVersion(int *version) { *version = VERSION; return 0; }
"""


def _runtime(folder: Path, body: str, version: int = 12080) -> Path:
    """Make what behaves as a CUDA runtime does, well or badly."""
    source, library = folder / "cudart.c", folder / "libcudart.so.12"
    source.write_text(RUNTIME.replace("BODY", body).replace("VERSION", str(version)))
    subprocess.run(["cc", "-shared", "-fPIC", "-Wno-unused", "-o", library, source, "-ldl"], check=True)
    return library


def test_the_answer_carries_code_name_and_version(twin: Path, tmp_path: Path) -> None:
    library = _runtime(tmp_path, "return level() == 11080 ? 35 : level() == 12040 ? 100 : 999;")
    assert ask_runtime(library, 11080, twin) == RuntimeAnswer(35, "cudaErrorInsufficientDriver", (12, 8))
    assert ask_runtime(library, "12.4", twin) == RuntimeAnswer(100, "cudaErrorOther", (12, 8))


def test_a_runtime_that_does_not_say_its_version(twin: Path, tmp_path: Path) -> None:
    assert ask_runtime(_runtime(tmp_path, "return level() ? 35 : 0;", version=0), "10.2", twin).runtime is None


@pytest.mark.parametrize(("code", "loads"), [(35, False), (100, True), (500, None), (0, None)])
def test_only_two_codes_answer_the_question(code: int, *, loads: bool | None) -> None:
    assert RuntimeAnswer(code, "", (12, 8)).loads is loads


def test_a_runtime_that_did_not_meet_the_stand_in_has_not_answered(twin: Path, tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match=r"libcudart.so.12 answered 35 without asking the driver twin"):
        ask_runtime(_runtime(tmp_path, "return 35;"), "12.4", twin)


def test_a_folder_without_the_stand_in(tmp_path: Path) -> None:
    with pytest.raises(
        OutsideError, match=r"(?s)ended with exit code 1 instead of answering.*libcuda.so.1: cannot open"
    ):
        ask_runtime(tmp_path / "libcudart.so.12", "12.4", tmp_path)


def test_a_runtime_that_dies(twin: Path, tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match=r"libcudart.so.12 died of SIGABRT instead of answering"):
        ask_runtime(_runtime(tmp_path, "abort();"), "12.4", twin)


def test_a_runtime_that_ends_the_process(twin: Path, tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="ended with exit code 7 instead of answering"):
        ask_runtime(_runtime(tmp_path, "_exit(7);"), "12.4", twin)


def test_a_runtime_that_says_nothing(twin: Path, tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="gave no answer that can be read"):
        ask_runtime(_runtime(tmp_path, "_exit(0);"), "12.4", twin)


def test_a_runtime_that_hangs(twin: Path, tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match=r"did not answer within 0\.5 s"):
        ask_runtime(_runtime(tmp_path, "sleep(60); return 0;"), "12.4", twin, timeout=0.5)


@pytest.mark.parametrize("made", ["missing", "text", "another library"])
def test_what_is_no_runtime_is_refused(twin: Path, tmp_path: Path, made: str) -> None:
    given = tmp_path / "libcudart.so.12"
    if made == "text":
        given.write_text("no library")
    if made == "another library":
        shutil.copy(twin / "libcuda.so.1", given)
    with pytest.raises(InputError, match=r"libcudart.so.12: not a CUDA runtime that loads here: "):
        ask_runtime(given, "12.4", twin)


@pytest.mark.parametrize("level", ["550.54.14", "", 12, "newest"])
def test_a_bad_level_is_refused_before_anything_runs(level: str | int) -> None:
    with pytest.raises(InputError, match="driver level: "):
        ask_runtime(Path("/nowhere/libcudart.so.12"), level, Path("/nowhere"))

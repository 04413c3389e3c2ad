"""The rule on CUDA runtimes and driver levels, against the real runtimes' own answers, over every pair.

The runtimes are the wheels of the configured index: the first and the last minor of each CUDA major, and some between.
Torch is heavy, so it is asked only where `STACKPROOF_CUDA_TORCH` names the Python of an environment with a CUDA build.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from required import need

from stackproof.compat.driver_levels import parse_level, runtime_loads
from stackproof.compat.driver_twin import ask_runtime, build_twin, environment
from stackproof.containers.uv import find_uv

RUNTIMES = {
    "nvidia-cuda-runtime-cu11": ["11.7.99", "11.8.89"],
    "nvidia-cuda-runtime-cu12": ["12.0.146", "12.1.105", "12.4.127", "12.8.90", "12.9.79"],
    "nvidia-cuda-runtime": ["13.0.96", "13.2.86", "13.5.37"],
}
LEVELS = (
    *(9000, 10010, 10020, 11000, 11020, 11030, 11040, 11080, 11990),
    *(12000, 12010, 12020, 12040, 12080, 12090, 12990, 13000, 13010, 13020, 13050, 13990, 14000),
)
PAIRS = [(package, version) for package, versions in RUNTIMES.items() for version in versions]
ASK_TORCH = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import torch
    print(torch.version.cuda, torch.cuda.is_available())
    print(*[warning.message for warning in said if "driver" in str(warning.message)])
"""


@pytest.fixture(scope="session")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = any(shutil.which(name) for name in ("cc", "gcc", "clang"))
    need("compiler", "" if found else "the driver twin is C: install gcc or clang")
    return build_twin(tmp_path_factory.mktemp("twin"))


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Return a function from a wheel's name and version to the runtime in it."""
    folder = tmp_path_factory.mktemp("runtimes")

    def fetch(package: str, version: str) -> Path:
        target = folder / version
        to = ["--no-deps", "--python", sys.executable, "--target", str(target)]
        subprocess.run([find_uv(), "pip", "install", "--quiet", *to, f"{package}=={version}"], check=True)
        (library,) = target.glob("nvidia/*/lib/libcudart.so.*")
        return library

    return fetch


@pytest.mark.parametrize(("package", "version"), PAIRS)
def test_rule_and_runtime_agree_on_every_level(
    twin: Path, runtime: Callable[[str, str], Path], package: str, version: str
) -> None:
    library, cuda = runtime(package, version), parse_level(version.rpartition(".")[0])
    answers = {level: ask_runtime(library, level, twin) for level in LEVELS}
    assert {answer.runtime for answer in answers.values()} == {cuda if cuda >= (12, 0) else None}
    said = {level: answer.loads for level, answer in answers.items()}
    assert said == {level: runtime_loads(cuda, parse_level(level)) for level in LEVELS}


def test_a_gpu_leaves_the_answer_on_an_old_driver_as_it_is(twin: Path, runtime: Callable[[str, str], Path]) -> None:
    """With a GPU the runtime goes on to functions that the stand-in lacks, but only where it accepts the level."""
    library = runtime("nvidia-cuda-runtime", "13.2.86")
    code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).cudaGetDeviceCount(ctypes.byref(ctypes.c_int())))"
    said = []
    for level in ("12.9", "13.0"):
        variables = {**os.environ, **environment(twin, level, gpu="8.0:NVIDIA A100")}
        ran = subprocess.run([sys.executable, "-c", code, library], env=variables, capture_output=True, check=True)
        said.append(int(ran.stdout))
    assert said == [35, 500]


@pytest.mark.parametrize("level", ["11.8", "12.9", "13.0", "13.2"])
def test_torch_says_what_the_rule_says(twin: Path, level: str) -> None:
    python = os.environ.get("STACKPROOF_CUDA_TORCH", "")
    need("cuda-torch", "" if python else "STACKPROOF_CUDA_TORCH names no Python with a CUDA build of torch")
    variables = {**os.environ, **environment(twin, level)}
    ran = subprocess.run([python, "-c", ASK_TORCH], env=variables, capture_output=True, check=True, text=True)
    (cuda, available), warned = ran.stdout.splitlines()[0].split(), ran.stdout.splitlines()[1]
    assert available == "False"
    major, minor = parse_level(level)
    too_old = f"driver on your system is too old (found version {major * 1000 + minor * 10})"
    assert (too_old not in warned) is runtime_loads(parse_level(cuda), parse_level(level))

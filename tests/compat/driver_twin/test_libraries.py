"""What the two libraries answer, asked as programs ask them: by C calls, in a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

from stackproof.compat.driver_twin import environment

CUDA = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
number, second, text, found = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(100), ctypes.c_void_p()
"""
NVML = """
import ctypes
nvml = ctypes.CDLL("libnvidia-ml.so.1")
nvml.nvmlErrorString.restype = ctypes.c_char_p
number, second, text, device = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(100), ctypes.c_void_p()
"""
A100 = "8.0:NVIDIA A100"


def _ask(variables: dict[str, str], code: str) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        check=True,
        text=True,
    )
    return ran.stdout.splitlines()


def test_the_driver_says_its_level_and_has_no_gpu(twin: Path) -> None:
    code = CUDA + (
        "print(cuda.cuDriverGetVersion(ctypes.byref(number)), number.value)\n"
        "print(cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(number)))\n"
    )
    assert _ask(environment(twin, "12.4"), code) == ["0 12040", "100 3"]


def test_one_gpu_has_its_name_and_capability(twin: Path) -> None:
    code = CUDA + (
        "print(cuda.cuDeviceGetCount(ctypes.byref(number)))\n"
        "print(cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(number)), number.value)\n"
        "print(cuda.cuDeviceGet(ctypes.byref(number), 0), cuda.cuDeviceGet(ctypes.byref(second), 1))\n"
        "print(cuda.cuDeviceGetName(text, 100, 0), text.value.decode(), cuda.cuDeviceGetName(text, 5, 0))\n"
        "print(*[(cuda.cuDeviceGetAttribute(ctypes.byref(number), a, 0), number.value) for a in (75, 76)])\n"
        "print(cuda.cuDeviceGetAttribute(ctypes.byref(number), 16, 0))\n"
        "print(cuda.cuDeviceComputeCapability(ctypes.byref(number), ctypes.byref(second), 0), number.value)\n"
    )
    assert _ask(environment(twin, "12.4", A100), code) == [
        "3",
        "0 0 1",
        "0 101",
        "0 NVIDIA A100 1",
        "(0, 8) (0, 0)",
        "801",
        "0 8",
    ]


def test_functions_newer_than_the_level_are_missing(twin: Path) -> None:
    code = CUDA + (
        "for name, version in ((b'cuLaunchKernelEx', 11060), (b'cuGreenCtxCreate', 12040), (b'', 0)):\n"
        "    print(cuda.cuGetProcAddress_v2(name, ctypes.byref(found), version, 0, ctypes.byref(number)),"
        " number.value, found.value is not None)\n"
        "print(cuda.cuGetProcAddress(b'cuMemAlloc', ctypes.byref(found), 3020, 0),"
        " ctypes.CFUNCTYPE(ctypes.c_int)(found.value)())\n"
    )
    assert _ask(environment(twin, "12.2"), code) == ["0 0 True", "500 2 False", "500 1 False", "0 801"]


def test_private_tables_are_not_imitated(twin: Path) -> None:
    code = CUDA + "print(cuda.cuGetExportTable(ctypes.byref(found), bytes(16)), found.value)"
    assert _ask(environment(twin, "12.4", A100), code) == ["500 None"]


def test_without_a_level_nothing_is_answered(twin: Path) -> None:
    code = CUDA + "print(cuda.cuInit(0), cuda.cuDriverGetVersion(ctypes.byref(number)))"
    for level in ("", "12.4", "x", "-1"):
        assert _ask({**environment(twin, "12.4"), "STACKPROOF_TWIN_CUDA": level}, code) == ["999 999"]


def test_nvml_says_level_and_drivers_version(twin: Path) -> None:
    code = NVML + (
        "print(nvml.nvmlSystemGetDriverVersion(text, 80), nvml.nvmlInit_v2())\n"
        "print(nvml.nvmlSystemGetDriverVersion(text, 80), text.value.decode())\n"
        "print(nvml.nvmlSystemGetDriverVersion(text, 4), nvml.nvmlErrorString(7).decode())\n"
        "print(nvml.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(number)), number.value)\n"
        "print(nvml.nvmlDeviceGetCount_v2(ctypes.byref(number)), number.value)\n"
        "print(nvml.nvmlShutdown(), nvml.nvmlShutdown())\n"
    )
    assert _ask(environment(twin, "12.4", driver="550.54.14"), code) == [
        "1 0",
        "0 550.54.14",
        "7 Insufficient Size",
        "0 12040",
        "0 0",
        "0 1",
    ]


def test_nvml_has_the_gpu_and_no_version_that_was_not_given(twin: Path) -> None:
    code = NVML + (
        "print(nvml.nvmlInit_v2(), nvml.nvmlSystemGetDriverVersion(text, 80))\n"
        "print(nvml.nvmlDeviceGetCount_v2(ctypes.byref(number)), number.value)\n"
        "print(nvml.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(device)),"
        " nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)))\n"
        "print(nvml.nvmlDeviceGetName(device, text, 100), text.value.decode())\n"
        "print(nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(number), ctypes.byref(second)),"
        " number.value, second.value)\n"
    )
    answers = _ask(environment(twin, "12.4", A100), code)
    assert answers == ["0 3", "0 1", "2 0", "0 NVIDIA A100", "0 8 0"]

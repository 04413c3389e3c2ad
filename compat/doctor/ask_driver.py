"""Run by itself in a process of its own: ask the driver's libraries, NVML and `libcuda`, what is there.

One JSON object goes to standard output: `driver`, `nvml_cuda`, `devices` ([name, major, minor]), `libcuda` (the number
of its CUDA level), `libcuda_path` and `errors`. What could not be asked is absent. No CUDA context is made.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
from pathlib import Path
from typing import Any, Final

_TEXT: Final = 96
_MOST_DEVICES: Final = 256
# What NVML's return codes mean, where they say more than a number.
_REASONS: Final = {
    4: "insufficient permissions",
    9: "the kernel driver is not loaded",
    15: "a GPU is lost",
    18: "the library and the kernel driver are of different versions",
}


def _ask_nvml(found: dict[str, Any]) -> None:
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    status = nvml.nvmlInit_v2()
    if status != 0:
        found["errors"].append(f"NVML: {_REASONS.get(status, f'error {status}')}")
        return
    text, number = ctypes.create_string_buffer(_TEXT), ctypes.c_int()
    if nvml.nvmlSystemGetDriverVersion(text, _TEXT) == 0:
        found["driver"] = text.value.decode(errors="replace")
    if nvml.nvmlSystemGetCudaDriverVersion(ctypes.byref(number)) == 0:
        found["nvml_cuda"] = number.value
    if nvml.nvmlDeviceGetCount_v2(ctypes.byref(number)) == 0:
        found["devices"] = [_ask_device(nvml, index) for index in range(min(number.value, _MOST_DEVICES))]
    nvml.nvmlShutdown()


def _ask_device(nvml: ctypes.CDLL, index: int) -> list[str | int | None]:
    device, text = ctypes.c_void_p(), ctypes.create_string_buffer(_TEXT)
    major, minor = ctypes.c_int(), ctypes.c_int()
    if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) != 0:
        return [None, None, None]
    named = nvml.nvmlDeviceGetName(device, text, _TEXT) == 0
    known = nvml.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor)) == 0
    name = text.value.decode(errors="replace") if named else None
    return [name, major.value, minor.value] if known else [name, None, None]


def _ask_libcuda(found: dict[str, Any]) -> None:
    library, number = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(number)) == 0:
        found["libcuda"] = number.value
    mapped = re.search(r"\S*/libcuda\.so\S*", Path("/proc/self/maps").read_text(errors="replace"))
    if mapped:
        found["libcuda_path"] = mapped[0]


def main() -> None:
    """Ask both, and write what they said."""
    found: dict[str, Any] = {"errors": []}
    for ask in (_ask_libcuda, _ask_nvml):
        try:
            ask(found)
        except OSError as error:
            if "cannot open shared object file" not in str(error):
                found["errors"].append(str(error))
        except AttributeError as error:
            found["errors"].append(str(error))
    os.write(1, json.dumps(found).encode())


if __name__ == "__main__":
    main()

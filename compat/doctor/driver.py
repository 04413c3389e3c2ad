"""Read the driver and the GPUs: the kernel's own word, NVML and libcuda in a process of their own, else nvidia-smi.

Where there is no driver nothing is noted: neither `driver` nor `driver_cuda` nor `gpu` is among the claims.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..described import Library
from .asking import Asked, Deadline
from .installed import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..gather import Gathered

_KERNEL: Final = Path("/proc/driver/nvidia/version")
_QUESTIONS: Final = Path(__file__).with_name("ask_driver.py")
_PATIENCE: Final = 6.0
_FIELDS: Final = ("driver_version", "name", "compute_cap")


class AskedDriver:
    """The driver, asked; the answer is still to come.

    Args:
        variables: The environment variables that say where programs are.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._libraries = Asked([sys.executable, "-I", "-S", _QUESTIONS])
        self._path = variables.get("PATH", "")
        manager = shutil.which("nv-fabricmanager", path=self._path)
        self._manager = Asked([manager, "--version"]) if manager else None

    def note(self, gathered: Gathered, deadline: Deadline) -> None:
        """Note what the driver says.

        Args:
            gathered: Gets driver, CUDA level, devices, fabric manager, `libcuda`, and what went wrong.
            deadline: When to stop.
        """
        _read_kernel(gathered)
        written, failed = self._libraries.answer(deadline.left(_PATIENCE))
        try:
            said = json.loads(written)
        except json.JSONDecodeError:
            said = {}
            gathered.skip(f"the driver's libraries gave no answer: {failed or 'nothing was said'}")
        for error in said.get("errors", ()):
            gathered.skip(f"the driver's libraries: {error}")
        _note_libraries(said, gathered)
        if "devices" not in said:
            _ask_command(self._path, gathered, deadline)
        if self._manager is not None:
            self._note_manager(self._manager, gathered, deadline)

    def _note_manager(self, manager: Asked, gathered: Gathered, deadline: Deadline) -> None:
        written, failed = manager.answer(deadline.left(_PATIENCE))
        if match := re.search(r"\d+\.\d+(?:\.\d+)?", written):
            gathered.add_component("nvidia-fabricmanager", match[0], manager.name)
        else:
            gathered.skip(f"{manager.name} --version: {failed or 'names no version'}")


def _read_kernel(gathered: Gathered) -> None:
    match = re.search(r"Kernel Module\b.*?\s(\d{2,}\.\d+(?:\.\d+)?)\b", read_text(_KERNEL))
    if match:
        gathered.add_component("driver", match[1], str(_KERNEL))


def _note_libraries(said: Mapping[str, Any], gathered: Gathered) -> None:
    if said.get("driver"):
        gathered.add_component("driver", said["driver"], "NVML")
    level, where = (said.get("libcuda"), "libcuda") if said.get("libcuda") else (said.get("nvml_cuda"), "NVML")
    if level:
        gathered.add_component("driver_cuda", f"{level // 1000}.{level % 1000 // 10}", where)
    for index, (name, major, minor) in enumerate(said.get("devices", ())):
        if name:
            gathered.add_component("gpu", name, f"NVML: device {index}")
        if major is not None:
            gathered.add_component("compute_capability", f"{major}.{minor}", f"NVML: device {index}")
        if not name:
            gathered.skip(f"NVML: device {index} does not answer")
    if path := said.get("libcuda_path"):
        match = re.search(r"\.so\.(\d+\.\d+(?:\.\d+)?)$", path)
        gathered.libraries.append(Library("libcuda.so.1", path, match[1] if match else None))


def _ask_command(path: str, gathered: Gathered, deadline: Deadline) -> None:
    """Ask nvidia-smi, which may be there where NVML cannot be loaded by name."""
    command = shutil.which("nvidia-smi", path=path)
    if command is None:
        return
    query = [command, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader"]
    written, failed = Asked(query).answer(deadline.left(_PATIENCE))
    if failed:
        gathered.skip(f"nvidia-smi: {failed}")
        return
    rows = [row for row in csv.reader(written.splitlines(), skipinitialspace=True) if len(row) == len(_FIELDS)]
    for index, (driver, name, capability) in enumerate(rows):
        if index == 0:
            gathered.add_component("driver", driver, "nvidia-smi")
        gathered.add_component("gpu", name, f"nvidia-smi: device {index}")
        gathered.add_component("compute_capability", capability, f"nvidia-smi: device {index}")

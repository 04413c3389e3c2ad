"""The machine that evidence is from."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..backends.processor import processor_name


@dataclass(frozen=True)
class Machine:
    """Where cells run; part of what a run is made from.

    Attributes:
        os: Operating system and release.
        cpu: The processor's name.
        cores: Logical cores that this process may use.
        memory_bytes: Physical memory.
        gpu: Names of the GPUs, or None where the driver shows none.
        driver: Version of the NVIDIA driver, or None.
        python: Version of the interpreter that runs stackproof.
    """

    os: str
    cpu: str
    cores: int
    memory_bytes: int
    gpu: str | None
    driver: str | None
    python: str


def read_machine() -> Machine:
    """Look at the machine."""
    gpu, driver = _read_gpu()
    return Machine(
        os=_read_os(),
        cpu=processor_name(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        gpu=gpu,
        driver=driver,
        python=platform.python_version(),
    )


def _read_os() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _read_gpu() -> tuple[str | None, str | None]:
    """Ask nvidia-smi for names and driver; the kernel module's own file tells where no GPU can be there."""
    command = shutil.which("nvidia-smi")
    if command is None or not Path("/proc/driver/nvidia/version").exists():
        return None, None
    query = [command, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None, None
    rows = [tuple(part.strip() for part in line.split(",")) for line in answer.splitlines() if line.count(",") == 1]
    return (", ".join(name for name, _ in rows), rows[0][1]) if rows else (None, None)

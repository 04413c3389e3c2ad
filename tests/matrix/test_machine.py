"""The machine that evidence is from, as the system itself states it."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pytest

from stackproof.matrix import machine
from stackproof.matrix.machine import read_machine


def test_the_machine_is_this_one() -> None:
    found = read_machine()
    memory = int(Path("/proc/meminfo").read_text(encoding="ascii").split()[1]) * 1024
    cores = int(subprocess.run(["nproc"], capture_output=True, check=True, env={"PATH": os.environ["PATH"]}).stdout)
    assert (found.memory_bytes, found.cores, found.python) == (memory, cores, platform.python_version())
    assert found.cpu
    assert found.os


def test_cores_are_those_that_this_process_may_use() -> None:
    own = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(own)})
        assert read_machine().cores == 1
    finally:
        os.sched_setaffinity(0, own)


def test_a_system_without_a_release_file_is_still_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> dict[str, str]:
        raise OSError("no such file")

    monkeypatch.setattr(platform, "freedesktop_os_release", missing)
    assert read_machine().os == "Linux"
    monkeypatch.setattr(platform, "freedesktop_os_release", dict)
    assert read_machine().os == "Linux"


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put an `nvidia-smi` of the test's own on PATH, and the kernel module's file in its place."""
    command = tmp_path / "nvidia-smi"
    command.touch(mode=0o755)
    (tmp_path / "version").touch()
    real = Path

    def place(path: str) -> Path:
        return tmp_path / "version" if path == "/proc/driver/nvidia/version" else real(path)

    monkeypatch.setattr(machine, "Path", place)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return command


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo 'NVIDIA H200, 570.86.15'", ("NVIDIA H200", "570.86.15")),
        ("echo 'A, 550.1'; echo 'B, 550.1'", ("A, B", "550.1")),
        ("echo 'No devices were found'", (None, None)),
        ("", (None, None)),
        ("echo 'NVIDIA H200, 570.86.15'; exit 9", (None, None)),
    ],
)
def test_gpus_are_those_that_the_driver_shows(
    driver: Path, script: str, expected: tuple[str | None, str | None]
) -> None:
    driver.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    found = read_machine()
    assert (found.gpu, found.driver) == expected


def test_a_broken_nvidia_smi_shows_no_gpu(driver: Path) -> None:
    driver.write_bytes(b"\x7fELF nonsense")
    found = read_machine()
    assert (found.gpu, found.driver) == (None, None)


def test_without_the_kernel_module_nvidia_smi_is_not_asked(driver: Path) -> None:
    driver.write_text("#!/bin/sh\necho 'NVIDIA H200, 570.86.15'\n", encoding="ascii")
    (driver.parent / "version").unlink()
    assert read_machine().gpu is None

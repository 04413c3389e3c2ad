"""The driver's libraries are stand-ins here, found by LD_LIBRARY_PATH as real ones would be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from shared_libraries import build

from stackproof.compat.doctor import driver as driver_module
from stackproof.compat.doctor.asking import Deadline
from stackproof.compat.doctor.driver import AskedDriver
from stackproof.compat.gather import Gathered

if TYPE_CHECKING:
    from pathlib import Path

NVML = """
#include <string.h>
int nvmlInit_v2(void) { return %(status)s; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *t, unsigned n) { strncpy(t, "550.54.15", n); return 0; }
int nvmlSystemGetCudaDriverVersion(int *v) { *v = 12040; return 0; }
int nvmlDeviceGetCount_v2(unsigned *v) { *v = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(long)(i + 1); return 0; }
int nvmlDeviceGetName(void *d, char *t, unsigned n) {
  strncpy(t, d == (void *)1 ? "NVIDIA H100 80GB HBM3" : "NVIDIA GeForce GTX 1080", n); return 0; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) {
  *a = d == (void *)1 ? 9 : 6; *b = d == (void *)1 ? 0 : 1; return 0; }
"""
KERNEL = "NVRM version: NVIDIA UNIX {kind}  {version}  Tue Mar  5 22:23:56 UTC 2024\nGCC version:  gcc version 12.3.0\n"


@pytest.fixture(autouse=True)
def _no_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(driver_module, "_KERNEL", tmp_path / "no-kernel-module")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "libraries"))
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))


def read() -> Gathered:
    gathered = Gathered()
    AskedDriver(os.environ).note(gathered, Deadline(10))
    return gathered


def say(gathered: Gathered) -> dict[str, list[str]]:
    return {name: [claim.text for claim in claims] for name, claims in gathered.claims.items()}


def write_program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_no_driver_claims_nothing_and_is_no_fault() -> None:
    gathered = read()
    assert gathered.claims == {}
    assert gathered.not_understood == []


def test_nvml_tells_driver_level_and_devices(tmp_path: Path) -> None:
    build(tmp_path / "libraries" / "libnvidia-ml.so.1", NVML % {"status": 0})
    assert say(read()) == {
        "driver": ["550.54.15"],
        "driver_cuda": ["12.4"],
        "gpu": ["NVIDIA H100 80GB HBM3", "NVIDIA GeForce GTX 1080"],
        "compute_capability": ["9.0", "6.1"],
    }


def test_the_level_is_that_of_the_libcuda_that_programs_would_get(tmp_path: Path) -> None:
    build(tmp_path / "libraries" / "libnvidia-ml.so.1", NVML % {"status": 0})
    source = "int cuDriverGetVersion(int *v) { *v = 12080; return 0; }"
    real = build(tmp_path / "libraries" / "libcuda.so.1", source)
    real.rename(real.with_name("libcuda.so.570.86.15"))
    real.symlink_to("libcuda.so.570.86.15")
    gathered = read()
    assert say(gathered)["driver_cuda"] == ["12.8"]
    assert [(one.soname, one.version) for one in gathered.libraries] == [("libcuda.so.1", "570.86.15")]


@pytest.mark.parametrize("kind", ["x86_64 Kernel Module", "Open Kernel Module for x86_64"])
def test_the_kernel_module_tells_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path = tmp_path / "version"
    path.write_text(KERNEL.format(kind=kind, version="560.35.03"))
    monkeypatch.setattr(driver_module, "_KERNEL", path)
    assert say(read()) == {"driver": ["560.35.03"]}


def test_a_library_that_does_not_fit_the_kernel_module_is_told(tmp_path: Path) -> None:
    build(tmp_path / "libraries" / "libnvidia-ml.so.1", NVML % {"status": 18})
    gathered = read()
    assert gathered.claims == {}
    assert "different versions" in gathered.not_understood[0]


def test_nvidia_smi_answers_where_nvml_does_not(tmp_path: Path) -> None:
    write_program(tmp_path / "programs", "nvidia-smi", 'echo "535.161.08, NVIDIA A100-SXM4-40GB, 8.0"')
    assert say(read()) == {"driver": ["535.161.08"], "gpu": ["NVIDIA A100-SXM4-40GB"], "compute_capability": ["8.0"]}


def test_the_fabric_manager_tells_its_version(tmp_path: Path) -> None:
    write_program(tmp_path / "programs", "nv-fabricmanager", 'echo "Fabric Manager version is : 550.54.15"')
    assert say(read()) == {"nvidia-fabricmanager": ["550.54.15"]}


def test_a_driver_that_hangs_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "_PATIENCE", 1.0)
    hang = "int sleep(int); int nvmlInit_v2(void) { sleep(60); return 0; }"
    build(tmp_path / "libraries" / "libnvidia-ml.so.1", hang)
    gathered = read()
    assert gathered.claims == {}
    assert "no answer in 1 s" in gathered.not_understood[0]


def test_garbage_from_programs_is_told_and_not_believed(tmp_path: Path) -> None:
    write_program(tmp_path / "programs", "nvidia-smi", "echo NVIDIA-SMI has failed because; exit 9")
    write_program(tmp_path / "programs", "nv-fabricmanager", "echo what")
    gathered = read()
    assert gathered.claims == {}
    assert len(gathered.not_understood) == 2

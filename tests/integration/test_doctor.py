"""Real library wheels of NVIDIA's, small ones, in real venvs: what the doctor says of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from stackproof.compat.doctor import examine
from stackproof.compat.doctor.loader import absent_libraries, mapped_and_claimed, overwritten_files
from stackproof.containers.uv import run_uv

if TYPE_CHECKING:
    from pathlib import Path

CU11, CU12, CU13 = (
    "nvidia-cuda-runtime-cu11==11.8.89",
    "nvidia-cuda-runtime-cu12==12.4.127",
    "nvidia-cuda-runtime==13.0.96",
)


def make(folder: Path, *packages: str) -> Path:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert run_uv(["venv", "--python", python, str(folder)]).code == 0
    installed = run_uv(["pip", "install", "--python", str(folder / "bin" / "python"), *packages])
    assert installed.code == 0, installed.stderr
    return folder


@pytest.fixture(autouse=True)
def _nothing_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)


def test_real_runtimes_say_the_cuda_of_their_packages(tmp_path: Path) -> None:
    description = examine(make(tmp_path / "env", CU11, CU12, CU13)).describe()
    driver = "driver_cuda" in description.known
    said = {(one.soname, one.version, one.owner) for one in description.libraries if one.soname.startswith("libcudart")}
    assert said == {
        (
            "libcudart.so.11.0",
            "11.8" if driver else None,
            "nvidia-cuda-runtime-cu11",
        ),  # this one answers only where a driver is
        ("libcudart.so.12", "12.4", "nvidia-cuda-runtime-cu12"),
        ("libcudart.so.13", "13.0", "nvidia-cuda-runtime"),
    }
    assert description.known["nvidia-cuda-runtime-cu12"][0].text == "12.4.127"
    assert "pip" in description.origins
    assert (mapped_and_claimed(description), overwritten_files(description), description.not_understood) == ([], [], ())


def test_removing_one_of_two_packages_takes_the_other_s_file(tmp_path: Path) -> None:
    """The famous trap: two wheels with one path. The NCCL wheels are too big for a test; these are of the same kind."""
    env = make(tmp_path / "env", CU12)
    (site,) = env.glob("lib/python*/site-packages")
    (about,) = site.glob("nvidia_cuda_runtime_cu12-*.dist-info")
    other = site / "nvidia_cuda_runtime_fork-12.1.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-cuda-runtime-fork\nVersion: 12.1\n")
    shared = [line for line in (about / "RECORD").read_text().splitlines() if line.startswith("nvidia/")]
    (other / "RECORD").write_text("\n".join([*shared, f"{other.name}/METADATA,,", f"{other.name}/RECORD,,", ""]))
    (found,) = overwritten_files(examine(env).describe())
    assert set(found.owners) == {"nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime-fork"}
    assert run_uv(["pip", "uninstall", "--python", str(env / "bin" / "python"), "nvidia-cuda-runtime-fork"]).code == 0
    (gone,) = absent_libraries(examine(env).describe())
    assert (gone.wanted_by, gone.why) == ("nvidia-cuda-runtime-cu12", "claimed")

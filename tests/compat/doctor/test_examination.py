from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shared_libraries import build, cudart, install, make_venv, nccl

from stackproof.compat.doctor import examine
from stackproof.compat.doctor.loader import absent_libraries, mapped_and_claimed, overwritten_files
from stackproof.compat.errors import InputError

MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
TORCH = "__version__ = '2.5.0+cu124'\ncuda = '12.4'\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The packages' folder of a venv whose Python is the one that runs this, with a torch that needs NCCL."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    made = make_venv(tmp_path / "env", MINOR)
    (tmp_path / "env" / "bin").mkdir()
    (tmp_path / "env" / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    library = build(made / "nvidia" / "nccl" / "lib" / "libnccl.so.2", nccl(22105))
    options = ("--enable-new-dtags", "-rpath,$ORIGIN/../../nvidia/nccl/lib")
    build(made / "torch" / "lib" / "libtorch_cuda.so", "", [library], *options)
    (made / "torch" / "version.py").write_text(TORCH)
    (made / "torch" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    install(made, "nvidia-nccl-cu12", "2.21.5", [library])
    install(made, "torch", "2.5.0")
    return made


def test_a_whole_environment_is_read(site: Path, tmp_path: Path) -> None:
    description = examine(tmp_path / "env").describe()
    assert description.known["torch"][0].text == "2.5.0+cu124"
    assert {(one.soname, one.version, one.owner, one.mapped_by) for one in description.libraries} >= {
        ("libnccl.so.2", "2.21.5", "nvidia-nccl-cu12", None),
        ("libnccl.so.2", "2.21.5", "nvidia-nccl-cu12", "torch"),
    }
    assert not description.contradictions()
    assert not mapped_and_claimed(description)
    assert not overwritten_files(description)
    assert not absent_libraries(description)
    assert description.not_understood == ()
    assert site.is_dir()


def test_a_library_in_the_way_is_told(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow = build(tmp_path / "other" / "libnccl.so.2", nccl(22304))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(shadow.parent))
    description = examine(tmp_path / "env").describe()
    (found,) = mapped_and_claimed(description)
    assert found == ("libnccl.so.2", "2.21.5", "nvidia-nccl-cu12", str(shadow), "2.23.4", "torch")
    assert description.known["nccl"][0].text == "2.23.4"
    assert description.env_vars == {"LD_LIBRARY_PATH": str(shadow.parent)}
    assert site.is_dir()


def test_a_file_of_two_packages_and_one_that_is_gone_are_told(site: Path, tmp_path: Path) -> None:
    library = site / "nvidia" / "nccl" / "lib" / "libnccl.so.2"
    install(site, "nvidia-nccl-cu11", "2.20.5", [library])
    (both,) = overwritten_files(examine(tmp_path / "env").describe())
    assert set(both.owners) == {"nvidia-nccl-cu11", "nvidia-nccl-cu12"}
    library.unlink()
    why = {one.why for one in absent_libraries(examine(tmp_path / "env").describe())}
    assert why == {"claimed", "needed"}


def test_nothing_of_the_environment_is_imported_or_written(site: Path, tmp_path: Path) -> None:
    for name in ("jax", "jaxlib", "tensorflow"):
        (site / name).mkdir()
        (site / name / "__init__.py").write_text("raise RuntimeError('imported')\n")
        install(site, name, "1.0")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    code = (
        "import sys; from pathlib import Path; from stackproof.compat.doctor import examine\n"
        f"found = examine(Path({str(tmp_path / 'env')!r}))\n"
        "print('torch' in found.packages, sorted({'torch', 'jax', 'jaxlib', 'tensorflow', 'numpy'} & set(sys.modules)))"
    )
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)])}
    ran = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert ran.stdout.split(" ", 1) == ["True", "[]\n"]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_the_own_environment_is_read() -> None:
    gathered = examine()
    assert "pytest" in gathered.packages
    assert gathered.claims["python"][0].text.startswith(MINOR)


def test_a_place_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        examine(tmp_path)


def test_libraries_that_hang_and_crash_cost_little_and_are_told(site: Path, tmp_path: Path) -> None:
    sources = {
        "libnvrtc.so.12": "int sleep(int); __attribute__((constructor)) void f() { sleep(60); }",
        "libcublas.so.12": "__attribute__((constructor)) void f() { __builtin_trap(); }",
        "libcudart.so.12": cudart(12040),
    }
    for name, source in sources.items():
        build(site / "nvidia" / "x" / "lib" / name, source)
    began = time.monotonic()
    gathered = examine(tmp_path / "env")
    assert time.monotonic() - began < 12
    assert {one.soname: one.version for one in gathered.libraries}["libcudart.so.12"] == "12.4"
    told = "\n".join(gathered.not_understood)
    assert "no answer" in told
    assert "signal" in told


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_told(site: Path, tmp_path: Path) -> None:
    (site / "nvidia" / "nccl" / "lib" / "libnccl.so.2").chmod(0)
    assert any("Permission denied" in text for text in examine(tmp_path / "env").not_understood)

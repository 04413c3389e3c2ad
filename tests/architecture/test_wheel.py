"""The wheel holds what the repository lists, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("backends", "compat", "containers", "matrix")
BUILD = "import sys, setuptools.build_meta as backend; print(backend.build_wheel(sys.argv[1]))"


def listed() -> list[str]:
    """Return the files that git lists, and those that it would list after `git add`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in ran.stdout.split("\0") if name and (ROOT / name).exists()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of what git lists, so that nothing that lies about can get in."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in listed():
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / "source" / name, follow_symlinks=False)
    # What must not get in although it lies in a package.
    for stray in ("matrix/notes.txt", "backends/__pycache__/worker.cpython-311.pyc", "matrix/report/templates/.swp"):
        (folder / "source" / stray).parent.mkdir(exist_ok=True)
        (folder / "source" / stray).write_bytes(b"stray")
    command = [sys.executable, "-c", BUILD, str(folder / "made")]
    ran = subprocess.run(command, cwd=folder / "source", capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    (made,) = (folder / "made").iterdir()
    return made


def test_the_wheel_holds_what_git_lists(wheel: Path) -> None:
    ours = [name for name in listed() if name.startswith(tuple(f"{package}/" for package in PACKAGES))]
    top = [name for name in listed() if name.startswith("stackproof/") and not (ROOT / name).is_symlink()]
    with zipfile.ZipFile(wheel) as archive:
        held = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert sorted(held) == sorted([*(f"stackproof/{name}" for name in ours), *top])
        for name in ours:
            assert archive.read(f"stackproof/{name}") == (ROOT / name).read_bytes()


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        about = Parser().parsestr(archive.read(path).decode())
        (entries,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        assert "stackproof = stackproof.matrix.cli:main" in archive.read(entries).decode()
        assert any(name.endswith("/licenses/LICENSE") for name in archive.namelist())
    assert (about["Name"], about["License-Expression"]) == ("stackproof", "Apache-2.0")
    assert about["Requires-Python"] == ">=3.11"
    assert not {"torch", "tensorflow", "jax"} & {need.split(">")[0] for need in about.get_all("Requires-Dist")}


def test_the_wheel_asks_for_what_images_need(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        about = Parser().parsestr(archive.read(path).decode())
        tables = {name for name in archive.namelist() if name.startswith("stackproof/containers/data/")}
    assert {"docker", "pip"} <= {need.split(">")[0] for need in about.get_all("Requires-Dist")}
    assert tables == {f"stackproof/{path.relative_to(ROOT)}" for path in (ROOT / "containers" / "data").iterdir()}
    assert tables

"""The worker's zip is the same bytes everywhere, and runs from where it lies."""

import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from stackproof.backends import archive

SOURCE = Path(archive.__file__).resolve().parent


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a folder in the place of backends whose worker prints its arguments."""
    folder = tmp_path / "backends"
    (folder / "deeper").mkdir(parents=True)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "worker.cpython-311.pyc").write_bytes(b"x")
    (folder / "__init__.py").write_text("")
    (folder / "deeper" / "__init__.py").write_text("ANSWER = 42\n")
    (folder / "worker.py").write_text(
        "from .deeper import ANSWER\ndef main(arguments):\n    print(arguments, ANSWER, __file__)\n    return 7\n"
    )
    return folder


def test_holds_every_module_of_backends_and_nothing_else() -> None:
    with zipfile.ZipFile(io.BytesIO(archive.bundle())) as made:
        names = made.namelist()
        content = made.read("stackproof/backends/errors.py")
    modules = {f"stackproof/backends/{path.relative_to(SOURCE).as_posix()}" for path in SOURCE.rglob("*.py")}
    assert set(names) == {"__main__.py", "stackproof/__init__.py", *modules}
    assert names == sorted(names)
    assert content == (SOURCE / "errors.py").read_bytes()


def test_same_bytes_whatever_the_times_modes_and_place(small: Path, tmp_path: Path) -> None:
    first = archive.bundle(small)
    other = shutil.copytree(small, tmp_path / "elsewhere" / "copy")
    for path in other.rglob("*.py"):
        os.utime(path, (1, 1))
        path.chmod(0o600)
    assert archive.bundle(other) == first


def test_other_content_has_another_name(small: Path, tmp_path: Path) -> None:
    first = archive.write_bundle(tmp_path / "out", small)
    assert first.name == f"worker-{hashlib.sha256(first.read_bytes()).hexdigest()[:16]}.zip"
    (small / "deeper" / "__init__.py").write_text("ANSWER = 43\n")
    assert archive.write_bundle(tmp_path / "out", small) != first


def test_written_once_and_mended_when_damaged(small: Path, tmp_path: Path) -> None:
    path = archive.write_bundle(tmp_path / "out", small)
    before, content = path.stat().st_mtime_ns, path.read_bytes()
    assert archive.write_bundle(tmp_path / "out", small).stat().st_mtime_ns == before
    path.write_bytes(content[:100])
    assert archive.write_bundle(tmp_path / "out", small).read_bytes() == content
    assert list((tmp_path / "out").iterdir()) == [path]


def test_runs_isolated_with_arguments_and_status(small: Path, tmp_path: Path) -> None:
    path = archive.write_bundle(tmp_path / "out", small)
    ran = subprocess.run([sys.executable, "-I", path, "a", "b"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (7, "")
    assert ran.stdout.startswith("['a', 'b'] 42 ")
    assert str(path) in ran.stdout

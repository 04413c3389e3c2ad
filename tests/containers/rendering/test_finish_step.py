"""The last part of a step: what is new is compiled, loses rights, and gets its time; what was there stays as it is."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stackproof.containers.rendering import finish as finish_module
from stackproof.containers.rendering.finish import EPOCH, finish

SOURCE = Path(finish_module.__file__)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An environment with a package as uv leaves it."""
    site = tmp_path / "stack" / "lib" / "site-packages"
    info = site / "thing-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "thing").mkdir()
    (site / "thing" / "__init__.py").write_text("NAMES = {'a', 'b', 'c'}\ndef f(x): return x in {'p', 'q', 'r'}\n")
    (site / "thing" / "template.py").write_text("{{ no python }}\n")
    (site / "thing" / "data.txt").write_text("data")
    (info / "uv_cache.json").write_text('{"timestamp": 1}')
    (info / "RECORD").write_text("thing/__init__.py,sha256=x,1\nthing-1.0.dist-info/uv_cache.json,sha256=y,2\n")
    for name in (".lock", ".gitignore", "CACHEDIR.TAG"):
        (tmp_path / "stack" / name).write_text("*")
    (tmp_path / "stack" / "link").symlink_to("lib")
    return tmp_path / "stack"


def contents(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        stat = path.lstat()
        held = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(folder))] = (stat.st_mode, stat.st_mtime_ns, held)
    return found


def test_everything_new_has_one_time_links_and_folders_too(folder: Path) -> None:
    further = folder.parent / "further"
    further.write_text("x")
    finish(folder, (further,))
    assert {stat[1] for stat in contents(folder).values()} == {EPOCH * 10**9}
    assert further.stat().st_mtime == EPOCH


def test_what_uv_leaves_for_itself_is_gone_and_not_in_the_record(folder: Path) -> None:
    finish(folder)
    names = {Path(name).name for name in contents(folder)}
    assert not names & {".lock", ".gitignore", "CACHEDIR.TAG", "uv_cache.json"}
    (record,) = folder.rglob("RECORD")
    assert record.read_text() == "thing/__init__.py,sha256=x,1\n"


def test_modules_are_compiled_to_be_used_unchecked_and_templates_are_left(folder: Path) -> None:
    finish(folder)
    compiled = list(folder.rglob("*.pyc"))
    assert [path.name.partition(".")[0] for path in compiled] == ["__init__"]
    content = compiled[0].read_bytes()
    assert content[:4] == importlib.util.MAGIC_NUMBER
    assert int.from_bytes(content[4:8], "little") == 0b01  # by hash, which nobody checks: no file is read for it
    assert b"thing/__init__.py" in content[16:]


def test_nobody_else_may_write_and_no_program_takes_rights(folder: Path) -> None:
    (folder / "bad").write_text("x")
    (folder / "bad").chmod(0o6777)
    (folder / "lib").chmod(0o777)
    finish(folder)
    assert (folder / "bad").stat().st_mode & 0o7777 == 0o755
    assert (folder / "lib").stat().st_mode & 0o7777 == 0o755


def test_what_an_earlier_layer_left_is_not_touched(folder: Path) -> None:
    finish(folder)
    before = {path: path.lstat().st_ctime_ns for path in [folder, *folder.rglob("*")]}
    (folder / "lib" / "new.txt").write_text("x")
    finish(folder)
    touched = {path for path, time in before.items() if path.lstat().st_ctime_ns != time}
    assert touched == {folder / "lib"}
    assert (folder / "lib" / "new.txt").stat().st_mtime == EPOCH


def test_two_runs_give_the_same_bytes(folder: Path) -> None:
    digests = []
    for seed in ("0", "0"):
        for path in folder.rglob("*.pyc"):
            path.unlink()
        for path in folder.rglob("*.py"):
            os.utime(path)
        command = [sys.executable, "-s", "-S", SOURCE, folder]
        subprocess.run(command, check=True, env={"PYTHONHASHSEED": seed, "PATH": os.environ["PATH"]})
        digests.append(hashlib.sha256(repr(contents(folder)).encode()).hexdigest())
    assert digests[0] == digests[1]


def test_a_disk_that_refuses_is_an_error(folder: Path) -> None:
    if os.geteuid() == 0:
        # Root may write anywhere: a file in the place of the folder for compiled code refuses root, too.
        (folder / "lib" / "site-packages" / "thing" / "__pycache__").write_text("in the way")
    else:
        (folder / "lib" / "site-packages" / "thing").chmod(0o555)
    ran = subprocess.run([sys.executable, "-S", SOURCE, folder], capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "compiling failed" in ran.stderr


def test_it_runs_on_python_3_9_without_anything_else() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 9))
    imported = {
        alias.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    } | {(node.module or "").partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= set(sys.stdlib_module_names)
    assert not any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree))

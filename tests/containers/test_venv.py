"""Environments that need no index: those of the user's own, and the folder they are cached in."""

import fcntl
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from stackproof.compat.errors import InputError
from stackproof.containers.venv import cache_folder, environment_of


def test_users_venv_by_folder_or_interpreter() -> None:
    folder = Path(sys.prefix)
    by_folder, by_python = environment_of(folder), environment_of(folder / "bin" / "python")
    assert by_folder == by_python
    assert by_folder.python == folder / "bin" / "python"
    assert by_folder.lock_digest is None


def test_folder_without_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Python"):
        environment_of(tmp_path)


def test_cache_folder_is_configurable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKPROOF_CACHE", str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("STACKPROOF_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "stackproof"


def test_lock_outlives_a_killed_parent_while_uv_still_works(tmp_path: Path) -> None:
    program, started = tmp_path / "uv", tmp_path / "started"
    program.write_text(
        f"#!{sys.executable}\nimport os, time\nopen({str(started)!r}, 'w').write(str(os.getpid()))\ntime.sleep(1.5)\n"
    )
    program.chmod(0o755)
    code = f"""
        from pathlib import Path
        from stackproof.compat.lock import Lock
        from stackproof.containers import uv, venv
        from stackproof.containers.interpreter import Interpreter
        uv.find_uv = lambda: {str(program)!r}
        lock = Lock("s", "3.11.7", "linux_x86_64", (), "cpu", "")
        venv.build_venv(lock, Interpreter(Path("python"), "3.11.7", "linux_x86_64"), Path({str(tmp_path / "cache")!r}))
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    deadline = time.monotonic() + 20
    while not (started.exists() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    (path,) = (tmp_path / "cache" / "envs").glob("*.lock")
    with path.open("r+") as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(lock, fcntl.LOCK_EX)  # the orphan ends by itself, and lets go

"""uv runs with the settings given for pip, within limits, and leaves nothing behind."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from stackproof.compat.errors import OutsideError, StoppedError
from stackproof.containers import uv

SLEEPER = """#!{python}
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
open({pids!r}, "a").write(f"{{os.getpid()}}\\n")
time.sleep(60)
"""


def test_settings_of_pip_hold_where_uv_has_none() -> None:
    made = uv.settings(
        {
            "PIP_INDEX_URL": "https://main.invalid/simple",
            "PIP_EXTRA_INDEX_URL": "https://a.invalid/simple  https://b.invalid/simple",
            "PIP_FIND_LINKS": "/wheels https://c.invalid/links.html",
        }
    )
    assert made["UV_DEFAULT_INDEX"] == "https://main.invalid/simple"
    assert made["UV_INDEX"] == "https://a.invalid/simple https://b.invalid/simple"
    assert made["UV_FIND_LINKS"] == "/wheels,https://c.invalid/links.html"


@pytest.mark.parametrize(
    ("own", "pip", "not_made"),
    [
        ("UV_DEFAULT_INDEX", "PIP_INDEX_URL", ()),
        ("UV_INDEX_URL", "PIP_INDEX_URL", ("UV_DEFAULT_INDEX",)),
        ("UV_INDEX", "PIP_EXTRA_INDEX_URL", ()),
        ("UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL", ("UV_INDEX",)),
        ("UV_FIND_LINKS", "PIP_FIND_LINKS", ()),
    ],
)
def test_settings_of_uv_go_first(own: str, pip: str, not_made: tuple[str, ...]) -> None:
    made = uv.settings({own: "mine", pip: "theirs"})
    assert made[own] == "mine"
    assert not set(not_made) & set(made)


def test_settings_that_would_undo_a_lock_are_overruled() -> None:
    made = uv.settings({"UV_NO_VERIFY_HASHES": "1", "UV_VENV_SEED": "1", "UV_PYTHON_DOWNLOADS": "automatic"})
    assert "UV_NO_VERIFY_HASHES" not in made
    assert "UV_VENV_SEED" not in made
    assert made["UV_PYTHON_DOWNLOADS"] == "never"


def test_runs_the_real_program() -> None:
    finished = uv.run_uv(["--version"])
    assert finished.code == 0
    assert finished.stdout.startswith("uv ")


def test_failure_is_returned_with_its_words() -> None:
    finished = uv.run_uv(["pip", "compile", "--no-such-flag"])
    assert finished.code == 2
    assert "--no-such-flag" in finished.stderr


@pytest.fixture
def sleeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program in uv's place that forks, ignores SIGTERM and sleeps; return where the two write their numbers."""
    program, pids = tmp_path / "uv", tmp_path / "pids"
    program.write_text(SLEEPER.format(python=sys.executable, pids=str(pids)))
    program.chmod(0o755)
    monkeypatch.setattr(uv, "find_uv", lambda: str(program))
    return pids


def test_cancel_stops_it_and_its_children(sleeper: Path) -> None:
    cancel = threading.Event()
    timer = threading.Thread(target=lambda: (_await_two(sleeper), cancel.set()))
    timer.start()
    with pytest.raises(StoppedError):
        uv.run_uv(["anything"], cancel=cancel)
    timer.join()
    assert not [pid for pid in _numbers(sleeper) if _is_alive(pid)]


def test_time_limit_stops_it(sleeper: Path) -> None:
    with pytest.raises(OutsideError, match="time limit"):
        uv.run_uv(["anything"], time_limit=0.5)
    assert not [pid for pid in _numbers(sleeper) if _is_alive(pid)]


def test_a_program_that_reads_late_gets_all_of_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "uv"
    path.write_text(f"#!{sys.executable}\nimport sys, time\ntime.sleep(0.5)\nprint(len(sys.stdin.read()))\n")
    path.chmod(0o755)
    monkeypatch.setattr(uv, "find_uv", lambda: str(path))
    assert uv.run_uv(["pip"], stdin="x" * 1_000_000, time_limit=60.0).stdout.strip() == "1000000"


def _await_two(pids: Path) -> None:
    deadline = time.monotonic() + 20
    while len(_numbers(pids)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)


def _numbers(pids: Path) -> list[int]:
    return [int(line) for line in pids.read_text().split()] if pids.exists() else []


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

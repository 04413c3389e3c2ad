"""Runs that are killed or interrupted at any moment leave nothing behind, and are gone on with."""

from __future__ import annotations

import os
import pty
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from command_line import MARK, living
from tiny import comparable, read_report, stored, write_matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from command_line import CommandLine, Ended, Running
    from conftest import Certified

SEED = 20261130
SAYS = "--resume goes on from there"


# A run of two cells ends seven stages: two each of resolve, build and run, and one of measure.
@pytest.mark.parametrize("ended_before", [0, 2, 4, 5, 6])
def test_killed_run_is_gone_on_with(
    ended_before: int, certified: Certified, command: CommandLine, tmp_path: Path
) -> None:
    out, cache = tmp_path / "out", tmp_path / "cache"
    words = ("certify", certified.matrix, "--out", out, "--verbose")
    delay = random.Random(SEED + ended_before).uniform(0.0, 0.7)  # noqa: S311 - not a secret
    killed = command.start(*words, STACKPROOF_CACHE=str(cache))
    killed.wait_until(lambda: killed.said().count("done in") >= ended_before, f"the end of {ended_before} stages")
    time.sleep(delay)
    # Only the process itself: what it started has to notice by itself.
    os.kill(killed.process.pid, signal.SIGKILL)
    assert killed.end().code == -signal.SIGKILL
    finished = stored(out) if (out / "store.sqlite").exists() else []
    sys.stdout.write(f"seed {SEED}, killed {delay:.2f} s after the end of {ended_before} stages:\n{killed.said()}")
    assert len(finished) >= ended_before - 2, "environments are not in the store, all else is"
    assert killed.left(10.0) == [], "a process outlived the run that started it"
    resume = ["--resume"] if (out / "certify.json").exists() else []
    ended = command.run(*words, *resume, STACKPROOF_CACHE=str(cache))
    assert ended.code == 0, ended.err
    assert comparable(read_report(out)) == comparable(certified.report)
    rows = stored(out)
    assert rows[: len(finished)] == finished
    assert len({(stage, key) for _, stage, key, _ in rows}) == len(rows) == len(stored(certified.folder))
    assert _names(out) == _names(certified.folder)


def _names(folder: Path) -> set[str]:
    """Return the names in an output folder, but for files named by content."""
    return {path.name for path in folder.rglob("*") if path.parent.name != "evidence"}


def interrupt(running: Running) -> None:
    running.interrupt()


def interrupt_twice(running: Running) -> None:
    running.interrupt()
    time.sleep(0.3)
    running.interrupt()


def terminate(running: Running) -> None:
    os.kill(running.process.pid, signal.SIGTERM)


@pytest.mark.parametrize("stop", [interrupt, interrupt_twice, terminate])
def test_interrupted_in_each_stage(
    stop: Callable[[Running], None], certified: Certified, command: CommandLine, tmp_path: Path
) -> None:
    out, cache = tmp_path / "out", tmp_path / "cache"
    words = ("certify", certified.matrix, "--out", out, "--verbose")

    def start(*more: str, **variables: str) -> Running:
        return command.start(*words, *more, STACKPROOF_CACHE=str(cache), **variables)

    with silent_index() as (index, asked):
        emptied = dict.fromkeys(("UV_INDEX", "UV_FIND_LINKS", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"), "")
        resolving = start(UV_DEFAULT_INDEX=index, UV_CACHE_DIR=str(tmp_path / "uv"), **emptied)
        resolving.wait_until(asked.is_set, "asking the index")
        _stop_clean(resolving, stop)
    assert stored(out) == []

    building = start("--resume")
    building.wait_until(lambda: list(cache.glob("envs/*/")), "an environment")
    _stop_clean(building, stop)
    assert all(list(folder.glob("stackproof-environment.json")) for folder in cache.glob("envs/*/"))

    running = start("--resume")
    running.wait_until(lambda: any("worker-" in line for line in living(running.family).values()), "a worker")
    _stop_clean(running, stop)

    measuring = start("--resume")
    measuring.wait_for("measure    jax0.10.2")
    _stop_clean(measuring, stop)
    assert {stage for _, stage, _, _ in stored(out)} == {"lock", "run"}

    ended = start("--resume").end()
    assert ended.code == 0, ended.err
    assert read_report(out)["totals"]["runs_made"] == 0
    assert comparable(read_report(out)) == comparable(certified.report)


def _stop_clean(running: Running, stop: Callable[[Running], None]) -> Ended:
    stop(running)
    ended = running.end()
    assert ended.code == 4, ended.err
    assert SAYS in ended.err
    assert "Traceback" not in ended.err
    # A worker that was being started at that very moment ends by itself, once it finds its parent gone.
    assert running.left(5.0) == [], "a process outlived the run that started it"
    return ended


@contextmanager
def silent_index() -> Iterator[tuple[str, threading.Event]]:
    """Serve an index that takes every call and never answers; yields its address, and what is set once it is asked."""
    asked = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)

        def listen() -> None:
            kept = []
            while True:
                try:
                    kept.append(server.accept()[0])
                except OSError:
                    break
                asked.set()
            for connection in kept:
                connection.close()

        thread = threading.Thread(target=listen)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/simple", asked
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_interrupted_at_a_terminal(command: CommandLine, tmp_path: Path) -> None:
    """A real Ctrl-C at a real terminal, with its progress bar."""
    matrix = write_matrix(tmp_path, {"jax": ["0.10.2"]})
    ours, theirs = pty.openpty()
    line = [sys.executable, "-m", "stackproof", "certify", str(matrix), "--out", str(tmp_path / "out")]
    variables = {**command.variables, "TERM": "xterm", MARK: str(tmp_path)}
    with subprocess.Popen(
        ["setsid", "--ctty", "--wait", *line], stdin=theirs, stdout=theirs, stderr=theirs, env=variables
    ) as child:
        os.close(theirs)
        shown = _read_until(ours, b"run jax0.10.2")
        os.write(ours, b"\x03")
        shown += _read_until(ours, b"")
        assert child.wait(30) == 4, shown
    os.close(ours)
    text = shown.decode()
    assert SAYS in " ".join(text.split())
    assert "Traceback" not in text
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l") >= 0, "the cursor is shown again"
    assert living(str(tmp_path)) == {}


def _read_until(terminal: int, what: bytes) -> bytes:
    """Read what a terminal shows, until it shows something, or to its end where that is empty."""
    shown, deadline = b"", time.monotonic() + 60
    while not (what and what in shown) and time.monotonic() < deadline:
        try:
            shown += os.read(terminal, 65536)
        except OSError:  # the other end was closed
            break
    return shown


def test_resume_where_nothing_was_begun(command: CommandLine, tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path, {"jax": ["0.10.2"]})
    ended = command.run("certify", matrix, "--out", tmp_path / "out", "--resume")
    assert ended.code == 2
    assert "nothing was begun there; leave --resume out to begin" in ended.err
    assert not (tmp_path / "out").exists()


def test_resume_of_another_matrix(copied: Certified, command: CommandLine, tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path / "other", {"jax": ["0.10.2"]})
    ended = command.run("certify", matrix, "--out", copied.folder, "--resume")
    assert ended.code == 2
    assert "leave --resume out" in ended.err


def test_drafts_of_a_killed_run_are_swept(copied: Certified, command: CommandLine) -> None:
    drafts = [
        copied.folder / ".report.html.4194305",
        copied.folder / "evidence" / f".{'0' * 64}.npz.4194305.1.partial",
        copied.folder / "locks" / ".jax0.10.2-py311-mlp.txt.4194305.1.partial",
        copied.folder / "work" / "worker-0123456789abcdefx.new",
    ]
    for draft in drafts:
        draft.write_bytes(b"half")
    ended = command.run("certify", copied.matrix, "--out", copied.folder)
    assert ended.code == 0, ended.err
    assert [draft.name for draft in drafts if draft.exists()] == []

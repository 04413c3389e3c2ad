"""Workers in containers are started, timed, limited and ended as those of a venv, and nothing of them is left."""

from __future__ import annotations

import sys
import textwrap
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from image_fleet import AWAY, LocalContainer, LocalImages, put_in_place
from numpy_fleet import PYTHON, lock_of

from stackproof.compat.cell import Stack
from stackproof.compat.errors import OutsideError
from stackproof.containers.engine.container import Exit
from stackproof.containers.rendering.settings import PYTHON as INSIDE
from stackproof.matrix import contained
from stackproof.matrix.contained import _ending, _status, _variables
from stackproof.matrix.launch import Request, Server, WorkerError, run_worker, start_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Make = Callable[..., Request]

STACK = Stack("torch", "1.0", PYTHON)
MIB = 1024 * 1024
OOM = -137  # killed, and its memory limit was met
GOOD = """
    import json, pathlib, sys
    print("training")
    tensors = pathlib.Path(sys.argv[2]).with_suffix("")
    tensors.mkdir()
    (tensors / "measured.npz").write_bytes(b"numbers")
    json.dump({"error": None}, open(sys.argv[2], "w"))
"""
HANGING = """
    import time
    def hangs():
        time.sleep(60)
    hangs()
"""
SERVING = """
    import json, sys, time
    json.dump({"error": None}, open(sys.argv[2], "w"))
    say = lambda message: print(json.dumps(message), flush=True)
    say({"event": "ready"})
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "quit":
            break
        if command["count"] == 13:
            raise RuntimeError("step 13 diverged")
        say({"event": "steps", "count": command["count"], "seconds": command["count"] / 4, "cpu_seconds": 0.5})
"""


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Make]:
    """Return a maker of requests for a worker of the code given, in an image."""
    images = LocalImages()
    put_in_place(monkeypatch, images)

    def make(code: str, **changes: Any) -> Request:
        bundle, job = tmp_path / "worker.zip", tmp_path / "job.json"
        with zipfile.ZipFile(bundle, "w") as archive:
            archive.writestr("__main__.py", textwrap.dedent(code))
        job.write_text("{}")
        image = images.build(STACK, lock_of(STACK))
        fields = {"time_limit": 30.0, "device": "cpu", "image": image, **changes}
        return Request(image.python, bundle, job, tmp_path / "evidence.json", tmp_path / "run", **fields)

    yield make
    assert LocalContainer.left == []


def test_a_worker_runs_to_its_end_and_its_evidence_and_tensors_are_brought(make: Make) -> None:
    request = make(GOOD)
    outcome = run_worker(request)
    assert (outcome.ok, outcome.kind, outcome.exit_code, outcome.signal, outcome.reason) == (True, "ok", 0, None, "")
    assert request.evidence.read_text() == '{"error": null}'
    assert (request.evidence.with_suffix("") / "measured.npz").read_bytes() == b"numbers"
    assert request.log.read_text() == "training\n"
    assert sorted(path.name for path in request.folder.iterdir()) == ["worker.log"]


def test_the_command_is_that_of_a_venv_with_the_images_python(make: Make, tmp_path: Path) -> None:
    program = tmp_path / "some.npz"
    program.write_bytes(b"program")
    run_worker(make(GOOD, program=program, memory_limit=512 * MIB))
    (asked,) = LocalContainer.asked
    flags = ("-I", "-u", "-X", "faulthandler")
    assert asked.command == (INSIDE, *flags, "/job/worker.zip", "/job/job.json", "/job/out/evidence.json")
    assert asked.files.keys() == {"/job/worker.zip", "/job/job.json", "/job/program.npz", "/job/out/begun"}
    assert (asked.limits.memory_bytes, asked.limits.cpus >= 1, asked.stdin) == (512 * MIB, True, True)


@pytest.mark.parametrize(
    ("device", "driver", "gpus"), [("auto", True, True), ("auto", False, False), ("cpu", True, False)]
)
def test_gpus_are_handed_in_where_there_are_some_and_they_are_wanted(
    make: Make, monkeypatch: pytest.MonkeyPatch, device: str, *, driver: bool, gpus: bool
) -> None:
    monkeypatch.setattr("stackproof.containers.image.has_driver", lambda: driver)
    run_worker(make(GOOD, device=device))
    assert LocalContainer.asked[0].gpus is gpus


def test_evidence_of_an_earlier_run_is_not_taken_for_this_ones(make: Make) -> None:
    assert run_worker(make(GOOD)).ok
    outcome = run_worker(make("pass"))
    assert (outcome.ok, outcome.kind) == (False, "crash")
    assert "no evidence" in outcome.reason


def test_a_traceback_is_the_reason(make: Make) -> None:
    outcome = run_worker(make("import no_such_framework"))
    assert (outcome.ok, outcome.kind, outcome.exit_code) == (False, "crash", 1)
    assert outcome.log[-1] == "ModuleNotFoundError: No module named 'no_such_framework'"


def test_a_signal_is_named(make: Make) -> None:
    outcome = run_worker(make("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert (outcome.kind, outcome.signal, outcome.exit_code) == ("signal", "SIGSEGV", None)


def test_a_worker_that_hangs_says_where_and_is_removed(make: Make) -> None:
    outcome = run_worker(make(HANGING, time_limit=1.0))
    assert (outcome.kind, outcome.signal) == ("hang", "SIGABRT")
    assert "within 1 s" in outcome.reason
    assert any("in hangs" in line for line in outcome.log)


def test_a_stop_ends_it_at_once(make: Make) -> None:
    cancel = threading.Event()
    cancel.set()
    start = time.monotonic()
    assert run_worker(make("import time; time.sleep(60)"), cancel).kind == "stopped"
    assert time.monotonic() - start < 10


def test_an_engine_that_does_not_start_it_fails_outside_and_leaves_nothing(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = []

    def refuse(_: LocalContainer) -> None:
        raise AWAY

    def remove(container: LocalContainer) -> None:
        removed.append(container)

    monkeypatch.setattr(LocalContainer, "start", refuse)
    monkeypatch.setattr(LocalContainer, "remove", remove)
    with pytest.raises(OutsideError, match="the engine ended"):
        run_worker(make(GOOD))
    assert len(removed) == 1


def test_an_engine_that_ends_meanwhile_fails_outside(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, asked = LocalContainer.ended, []

    def answer(self: LocalContainer) -> Exit | None:
        asked.append(self)
        if len(asked) == 1:
            raise AWAY
        return ended(self)

    monkeypatch.setattr(LocalContainer, "ended", answer)
    with pytest.raises(OutsideError, match="the engine ended"):
        run_worker(make("import time; time.sleep(60)"))


def test_the_last_words_are_waited_for(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    # An engine may say that a container ended before its last output has come.
    late = threading.Event()
    log = LocalContainer.log
    threading.Timer(1.2, late.set).start()
    monkeypatch.setattr(LocalContainer, "read", lambda _, timeout: b"" if late.wait(timeout) else None)
    monkeypatch.setattr(LocalContainer, "log", lambda self: log(self) if late.is_set() else b"")
    assert run_worker(make("raise ValueError('the last words')")).reason.endswith("the last words")


def test_a_served_worker_times_steps_and_quits(make: Make) -> None:
    request = make(SERVING)
    with Server(request) as server:
        server.ready()
        assert request.evidence.read_text() == '{"error": null}'
        steps = server.steps(8)
        assert (steps.seconds, steps.cpu_seconds) == (2.0, 0.5)
        assert server.close().ok


def test_a_served_worker_that_fails_is_told_with_its_reason(make: Make) -> None:
    with Server(make(SERVING)) as server:
        server.ready()
        with pytest.raises(WorkerError, match="step 13 diverged"):
            server.steps(13)


def test_a_served_worker_that_never_is_ready_hangs(make: Make) -> None:
    with Server(make("import time; time.sleep(60)")) as server, pytest.raises(WorkerError, match=r"within 0\.5 s"):
        server.ready(0.5)


@pytest.mark.parametrize("image", [True, False], ids=["image", "venv"])
def test_where_a_worker_runs_is_decided_by_its_request(make: Make, *, image: bool) -> None:
    request = make("pass") if image else replace(make("pass"), image=None, python=Path(sys.executable))
    worker = start_worker(request, None)
    try:
        assert isinstance(worker, contained.Contained) is image
        assert len(LocalContainer.asked) == int(image)
    finally:
        worker.finish("cancel")


@pytest.mark.parametrize(
    ("code", "status"),
    [(0, 0), (1, 1), (128, 128), (129, -1), (134, -6), (137, -9), (139, -11), (192, -64), (193, 193), (255, 255)],
)
def test_a_status_of_an_engine_is_read_as_that_of_a_process(code: int, status: int) -> None:
    assert _status(code) == status


@pytest.mark.parametrize(
    ("code", "cut", "limit", "kind", "words"),
    [
        (0, "", 0, "ok", ""),
        (OOM, "", 512 * MIB, "out-of-memory", "above its limit of 512 MiB"),
        (OOM, "", 0, "out-of-memory", "the kernel's out-of-memory killer ended a process meanwhile"),
        (137, "", 512 * MIB, "signal", "killed by signal 9"),
        (OOM, "time", 512 * MIB, "hang", "within 30 s"),
        (137, "cancel", 0, "stopped", "stopped by the user"),
        (255, "", 0, "crash", "ended with status 255"),
    ],
)
def test_what_an_engine_says_of_an_end_becomes_its_outcome(
    tmp_path: Path, code: int, cut: Any, limit: int, kind: str, words: str
) -> None:
    ended = Exit(abs(code), out_of_memory=code == OOM, error="")
    evidence = tmp_path / "evidence.json"
    evidence.write_text('{"error": null}')
    outcome = contained.judge_ending(_ending(cut, ended, 1.0, 30.0, limit), tmp_path / "none.log", evidence)
    assert outcome.kind == kind
    assert words in outcome.reason


def test_a_container_that_met_its_limit_and_went_on_is_fine(tmp_path: Path) -> None:
    evidence = tmp_path / "evidence.json"
    evidence.write_text('{"error": null}')
    ending = _ending("", Exit(0, out_of_memory=True, error=""), 1.0, 30.0, 512 * MIB)
    assert contained.judge_ending(ending, tmp_path / "none.log", evidence).ok


def test_variables_are_made_from_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = dict(_variables(make(GOOD, threads=3)))
    monkeypatch.setattr("os.environ", {**bare, "LD_PRELOAD": "/evil.so", "HTTP_PROXY": "http://user:secret@proxy"})
    made = dict(_variables(make(GOOD, threads=3)))
    assert made == bare
    assert (made["HOME"], made["TMPDIR"], made["OMP_NUM_THREADS"]) == ("/job", "/" + "tmp", "3")
    assert made["CUDA_VISIBLE_DEVICES"] == ""
    assert "CUDA_VISIBLE_DEVICES" not in _variables(make(GOOD, device="auto"))
    folders = {name for name, value in made.items() if value.startswith("/")}
    assert all(made[name].startswith("/job") or name == "TMPDIR" for name in folders)
    assert not {"PATH", "LD_LIBRARY_PATH"} & made.keys()

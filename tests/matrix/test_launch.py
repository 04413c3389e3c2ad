"""Workers that misbehave in every way are told apart, and nothing of them is left behind.

The workers are small programs in a zip, run by this very interpreter as a real worker is.
"""

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from stackproof.matrix.launch import Request, Server, WorkerError, run_worker

Make = Callable[..., Request]

GOOD = """
    import json, sys
    print("training")
    json.dump({"error": None}, open(sys.argv[2], "w"))
"""
# Writes its number and its child's; both refuse to end when asked.
FAMILY = """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = os.fork()
    if child == 0 and {leaves}:
        os.setsid()
    with open({pids!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    if child == 0 or {stays}:
        time.sleep(60)
    while len(open({pids!r}).read().split()) < 2:
        time.sleep(0.01)
    open(sys.argv[2], "w").write("{{}}")
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
        if command["count"] == 99:
            time.sleep(60)
        say({"event": "steps", "count": command["count"], "seconds": command["count"] / 4, "cpu_seconds": 0.5})
"""


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a maker of requests for a worker of the code given."""

    def make(code: str, **changes: float | str) -> Request:
        bundle, job = tmp_path / "worker.zip", tmp_path / "job.json"
        with zipfile.ZipFile(bundle, "w") as archive:
            archive.writestr("__main__.py", textwrap.dedent(code))
        job.write_text("{}")
        fields = {"time_limit": 30.0, "device": "cpu", **changes}
        return Request(Path(sys.executable), bundle, job, tmp_path / "evidence.json", tmp_path / "run", **fields)

    return make


def test_good_worker(make: Make) -> None:
    request = make(GOOD)
    outcome = run_worker(request)
    assert (outcome.ok, outcome.kind, outcome.exit_code, outcome.signal, outcome.reason) == (True, "ok", 0, None, "")
    assert outcome.log == ()
    assert outcome.seconds > 0
    assert "training" in request.log.read_text()


def test_traceback_is_the_reason(make: Make) -> None:
    outcome = run_worker(make("import no_such_framework"))
    assert (outcome.ok, outcome.kind, outcome.exit_code) == (False, "crash", 1)
    assert "ModuleNotFoundError: No module named 'no_such_framework'" in outcome.reason
    assert outcome.log[-1] == "ModuleNotFoundError: No module named 'no_such_framework'"


def test_success_without_evidence_is_a_crash(make: Make) -> None:
    outcome = run_worker(make("pass"))
    assert (outcome.ok, outcome.kind, outcome.exit_code) == (False, "crash", 0)
    assert "no evidence" in outcome.reason


def test_evidence_of_an_earlier_run_is_not_taken_for_this_ones(make: Make) -> None:
    assert run_worker(make(GOOD)).ok
    assert not run_worker(make("pass")).ok


@pytest.mark.parametrize(
    ("kind", "message", "exit_code", "expected"),
    [
        ("UnsupportedError", "operator Conv has no rule on jax", 2, "refused"),
        ("ValueError", "shapes differ", 3, "crash"),
        ("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB", 3, "out-of-memory"),
        ("XlaRuntimeError", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate", 3, "out-of-memory"),
    ],
)
def test_error_in_the_evidence_is_the_reason(
    make: Make, kind: str, message: str, exit_code: int, expected: str
) -> None:
    error = {"kind": kind, "message": message, "exit_code": exit_code}
    code = f"import json, sys; json.dump({{'error': {error!r}}}, open(sys.argv[2], 'w')); sys.exit(1)"
    outcome = run_worker(make(code))
    assert (outcome.ok, outcome.kind) == (False, expected)
    assert outcome.reason == (message if expected == "refused" else f"{kind}: {message}")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupted_worker_says_nothing_of_its_stack(make: Make, name: str) -> None:
    code = f"import os, signal; signal.signal(signal.{name}, signal.SIG_DFL); os.kill(os.getpid(), signal.{name})"
    outcome = run_worker(make(code))
    assert (outcome.ok, outcome.kind, outcome.signal) == (False, "stopped", name)
    assert name in outcome.reason


def test_exhausted_memory_in_a_traceback(make: Make) -> None:
    outcome = run_worker(make("bytearray(1 << 60)"))
    assert outcome.kind == "out-of-memory"
    assert "MemoryError" in outcome.reason


@pytest.mark.parametrize(
    ("code", "name"),
    [("import ctypes; ctypes.string_at(0)", "SIGSEGV"), ("import os; os.abort()", "SIGABRT")],
)
def test_native_death_names_the_signal_and_the_line(make: Make, code: str, name: str) -> None:
    outcome = run_worker(make(f"def train():\n    {code}\ntrain()"))
    assert (outcome.kind, outcome.signal, outcome.exit_code) == ("signal", name, None)
    assert name in outcome.reason
    assert any(line.startswith("Fatal Python error") for line in outcome.log)
    assert any("in train" in line for line in outcome.log)


def test_death_leaves_no_core_file(make: Make) -> None:
    code = "import resource, sys; print(resource.getrlimit(resource.RLIMIT_CORE)); import time; time.sleep(0.2)"
    request = make(f"import time; time.sleep(0.3)\n{code}")
    run_worker(request)
    assert "(0, 0)" in request.log.read_text()


def test_kill_from_outside_is_worded_honestly(make: Make) -> None:
    outcome = run_worker(make("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
    assert (outcome.ok, outcome.signal) == (False, "SIGKILL")
    assert outcome.kind in {"signal", "out-of-memory"}
    assert "signal 9, which stackproof did not send" in outcome.reason
    assert "out-of-memory killer" in outcome.reason


def test_hang_is_cut_and_shows_where(make: Make) -> None:
    outcome = run_worker(make("import time\ndef wait_for_peer():\n    time.sleep(60)\nwait_for_peer()", time_limit=1.0))
    assert (outcome.ok, outcome.kind) == (False, "hang")
    assert "within 1 s" in outcome.reason
    assert "in wait_for_peer" in outcome.log[0]
    assert outcome.seconds < 10


def test_memory_limit_counts_children(make: Make) -> None:
    code = """
        import os, sys, time
        for _ in range(2):
            if os.fork() == 0:
                held = bytearray(os.urandom(1 << 20) * 120)
                time.sleep(60)
        time.sleep(60)
    """
    outcome = run_worker(make(code, memory_limit=200 << 20))
    assert (outcome.ok, outcome.kind) == (False, "out-of-memory")
    assert outcome.peak_memory_bytes > 200 << 20
    assert "above its limit of 200 MiB" in outcome.reason


def test_peak_memory_is_measured(make: Make) -> None:
    outcome = run_worker(make(f"import time\nheld = bytearray(150 << 20)\ntime.sleep(0.4){GOOD.replace(' ' * 4, '')}"))
    assert outcome.ok
    assert 150 << 20 < outcome.peak_memory_bytes < 400 << 20


def test_interpreter_that_is_not_there(make: Make, tmp_path: Path) -> None:
    request = make(GOOD)
    outcome = run_worker(Request(tmp_path / "gone", request.bundle, request.job, request.evidence, request.folder))
    assert (outcome.ok, outcome.kind, outcome.exit_code) == (False, "crash", None)
    assert "could not be started" in outcome.reason


@pytest.mark.parametrize("leaves", [False, True], ids=["same session", "session of its own"])
def test_cancel_ends_children_that_ignore_it(make: Make, tmp_path: Path, *, leaves: bool) -> None:
    pids, cancel = tmp_path / "pids", threading.Event()
    timer = threading.Thread(target=lambda: (_await_two(pids), cancel.set()))
    timer.start()
    outcome = run_worker(make(FAMILY.format(pids=str(pids), leaves=leaves, stays=True)), cancel)
    timer.join()
    assert (outcome.ok, outcome.kind) == (False, "stopped")
    assert len(_numbers(pids)) == 2
    assert not [pid for pid in _numbers(pids) if _is_alive(pid)]


def test_children_left_by_a_good_worker_are_ended(make: Make, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    outcome = run_worker(make(FAMILY.format(pids=str(pids), leaves=True, stays=False)))
    assert outcome.ok
    assert len(_numbers(pids)) == 2
    assert not [pid for pid in _numbers(pids) if _is_alive(pid)]


def test_worker_sees_end_of_input_when_its_parent_is_killed(make: Make, tmp_path: Path) -> None:
    # A worker that ends at end of input, under a parent that is killed without a chance to clean up.
    pids = tmp_path / "pids"
    request = make(f"""
        import os, sys
        open({str(pids)!r}, "w").write(str(os.getpid()))
        sys.stdin.read()
    """)
    parent = subprocess.Popen(
        [sys.executable, "-c", "import sys; exec(sys.argv[1])", textwrap.dedent(f"""
            from pathlib import Path
            from stackproof.matrix.launch import Request, run_worker
            run_worker(Request(*map(Path, {[str(getattr(request, n)) for n in FIELDS]!r})))
        """)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    _wait_until(lambda: bool(_numbers(pids)))
    worker = _numbers(pids)[0]
    assert _is_alive(worker)
    parent.kill()
    parent.wait()
    _wait_until(lambda: not _is_alive(worker))
    assert not _is_alive(worker)


FIELDS = ("python", "bundle", "job", "evidence", "folder")


def test_worker_runs_in_clean_surroundings(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/site/driver")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    request = make(
        "import json, os, sys, tempfile\n"
        "tempfile.mkstemp()\n"
        "json.dump({'error': None, 'environ': dict(os.environ), 'tmp': tempfile.gettempdir()}, open(sys.argv[2], 'w'))",
        threads=3,
    )
    assert run_worker(request).ok
    evidence = json.loads(request.evidence.read_text())
    environ = evidence["environ"]
    assert "XLA_FLAGS" not in environ
    assert "PYTHONPATH" not in environ
    assert environ["LD_LIBRARY_PATH"] == "/site/driver"
    assert environ["CUDA_VISIBLE_DEVICES"] == ""
    assert environ["OMP_NUM_THREADS"] == environ["MKL_NUM_THREADS"] == environ["OPENBLAS_NUM_THREADS"] == "3"
    for folder in (evidence["tmp"], environ["TORCHINDUCTOR_CACHE_DIR"], environ["XDG_CACHE_HOME"]):
        assert Path(folder).is_relative_to(request.folder)


def test_gpus_are_left_visible_unless_the_device_is_cpu(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    request = make("import os, sys; open(sys.argv[2], 'w').write('{}'); print(os.environ['CUDA_VISIBLE_DEVICES'])",
                   device="auto")  # fmt: skip
    assert run_worker(request).ok
    assert request.log.read_text().strip() == "0"


def test_server_answers_and_quits(make: Make) -> None:
    with Server(make(SERVING)) as server:
        server.ready()
        assert [server.steps(count).seconds for count in (4, 8)] == [1.0, 2.0]
        assert server.steps(4).cpu_seconds == 0.5
        outcome = server.close()
    assert (outcome.ok, outcome.kind) == (True, "ok")
    assert server.close() == outcome


def test_server_that_fails_before_it_is_ready(make: Make) -> None:
    with Server(make("raise RuntimeError('no device')")) as server:
        with pytest.raises(WorkerError) as caught:
            server.ready()
        assert "RuntimeError: no device" in caught.value.outcome.reason
        assert "RuntimeError: no device" in str(caught.value)


def test_server_that_fails_in_a_step(make: Make) -> None:
    with Server(make(SERVING)) as server:
        server.ready()
        with pytest.raises(WorkerError, match="step 13 diverged"):
            server.steps(13)
        with pytest.raises(WorkerError, match="step 13 diverged"):
            server.steps(1)


def test_server_that_hangs_in_a_step(make: Make) -> None:
    with Server(make(SERVING, time_limit=2.0)) as server:
        server.ready()
        with pytest.raises(WorkerError) as caught:
            server.steps(99)
    assert caught.value.outcome.kind == "hang"


def test_server_that_is_never_ready(make: Make) -> None:
    with Server(make("import time; time.sleep(60)")) as server, pytest.raises(WorkerError) as caught:
        server.ready(timeout=0.5)
    assert caught.value.outcome.kind == "hang"


@pytest.mark.parametrize("said", ["hello", '{"event": "steps"}', "[1]"])
def test_server_that_speaks_something_else(make: Make, said: str) -> None:
    code = f"import time; print({said!r}, flush=True); time.sleep(60)"
    with Server(make(code)) as server, pytest.raises(WorkerError) as caught:
        server.ready()
    assert (caught.value.outcome.kind, caught.value.outcome.ok) == ("crash", False)
    assert "not its protocol" in caught.value.outcome.reason


def test_server_is_ended_by_cancel(make: Make) -> None:
    cancel = threading.Event()
    with Server(make(SERVING), cancel) as server:
        server.ready()
        cancel.set()
        with pytest.raises(WorkerError) as caught:
            server.steps(99)
    assert caught.value.outcome.kind == "stopped"


def test_server_is_ended_at_once_when_its_block_fails(make: Make) -> None:
    started = time.monotonic()
    server = Server(make("import time; time.sleep(60)"))
    with pytest.raises(KeyError), server:
        raise KeyError
    assert server.close().kind == "stopped"
    assert time.monotonic() - started < 4


def _await_two(pids: Path) -> None:
    _wait_until(lambda: len(_numbers(pids)) == 2)


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)


def _numbers(pids: Path) -> list[int]:
    return [int(line) for line in pids.read_text().split()] if pids.exists() else []


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

"""The worker, run as it is run in an environment: from its zip, isolated, on a target that needs numpy only."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from stackproof.backends import archive
from stackproof.backends.data import batches, batches_digest
from stackproof.backends.models.build import build_program
from stackproof.backends.program import dump, tensors_digest
from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train

if TYPE_CHECKING:
    from collections.abc import Iterator

SPEC = Spec("s", Mlp(inputs=3, hidden=(), outputs=2), Data(batch=2), Optimizer(lr=0.25), Schedule(), Train(steps=4))
PROGRAM = build_program(SPEC)
FIRST = sum(float(np.sum(value.astype(np.float64) ** 2)) for value in PROGRAM.parameters.values()) / 2.0
SOURCE = Path(archive.__file__).resolve().parent
TARGET = Path(__file__).resolve().parent.parent / "support" / "on_numpy"


def run(name: str = "measured", precision: str = "float32", *, compiled: bool = False, noise: Any = None) -> Any:
    return {"name": name, "precision": precision, "compile": compiled, "noise": noise}


@dataclass(frozen=True)
class Place:
    """A folder with a worker that has one more target."""

    folder: Path
    worker: Path

    def command(self, **changes: Any) -> list[str]:
        """Write a job, and return how to run it."""
        job = {
            "schema_version": 1,
            "target": "numpy",
            "device": "auto",
            "threads": 2,
            "program": str(self.folder / "program.npz"),
            "spec": SPEC.to_dict(),
            "tensors": str(self.folder / "made" / "tensors"),
            "runs": [run()],
            "serve": False,
            **changes,
        }
        (self.folder / "program.npz").write_bytes(dump(PROGRAM))
        (self.folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        files = (self.worker, self.folder / "job.json", self.folder / "made" / "evidence.json")
        return [sys.executable, "-I", *map(str, files)]

    def start(self, **changes: Any) -> subprocess.Popen[str]:
        """Start the worker with its pipes open."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(self.command(**changes), text=True, **pipes)  # type: ignore[call-overload, no-any-return]

    def end(self, **changes: Any) -> tuple[int, str, str]:
        """Run the worker to its end, and return its status, output and log."""
        with self.start(**changes) as child:
            # Input stays open until the worker has ended, as under a parent that waits.
            child.wait(60)
            return child.returncode, child.stdout.read(), child.stderr.read()  # type: ignore[union-attr]

    @property
    def evidence(self) -> dict[str, Any]:
        """Return what the worker wrote."""
        written: dict[str, Any] = json.loads((self.folder / "made" / "evidence.json").read_text(encoding="utf-8"))
        return written


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worker")
    source = shutil.copytree(SOURCE, folder / "backends", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(TARGET, source / "on_numpy", ignore=shutil.ignore_patterns("__pycache__"))
    return archive.write_bundle(folder, source)


@pytest.fixture
def place(tmp_path: Path, worker: Path) -> Place:
    return Place(tmp_path, worker)


@pytest.fixture
def serving(place: Place) -> Iterator[subprocess.Popen[str]]:
    with place.start(serve=True, runs=[run("first", "float64"), run()]) as child:
        yield child
        child.kill()


def test_a_job_leaves_its_evidence(place: Place) -> None:
    status, said, log = place.end()
    assert (status, said) == (0, "")
    written = place.evidence
    assert (written["schema_version"], written["target"], written["error"], written["threads"]) == (1, "numpy", None, 2)
    assert written["python"] == sys.version.split(maxsplit=1)[0]
    assert written["versions"]["numpy"] == version("numpy")
    assert written["platform"] == {
        "device": "cpu",
        "device_name": "a processor",
        "modules": {"numpy": np.__version__},
        "deterministic": True,
        "deterministic_why": "one thread",
        "details": {"built": "for tests"},
    }
    assert written["program_digest"] == PROGRAM.digest
    assert written["data_digest"] == batches_digest(batches(SPEC))
    assert written["peak_memory_bytes"] > 10 * 1024 * 1024
    assert written["seconds"]["import"] >= 0.0
    # What a framework prints, from Python or below it, is no part of the protocol.
    assert "a framework says hello" in log
    assert "its native code" in log


def test_a_run_is_recorded_step_by_step(place: Place) -> None:
    assert place.end()[0] == 0
    (made,) = place.evidence["runs"]
    assert {name: made[name] for name in run()} == run()
    assert made["losses"] == pytest.approx([FIRST * 0.75 ** (2 * step) for step in range(4)], rel=1e-6)
    assert made["grad_norms"] == pytest.approx(np.sqrt(2.0 * np.array(made["losses"])), rel=1e-12)
    assert (made["mode"], made["why"]) == ("eager", "session 1 of this process")
    assert set(made["seconds"]) == {"first_step", "rest"}


def test_final_parameters_are_in_a_file_that_the_evidence_names(place: Place) -> None:
    assert place.end()[0] == 0
    (made,) = place.evidence["runs"]
    with np.load(place.folder / "made" / "tensors" / made["parameters_file"]) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    assert list(found) == list(PROGRAM.parameters)
    for name, value in PROGRAM.parameters.items():
        assert found[name].dtype == np.float32
        assert found[name] == pytest.approx(value * 0.75**4, rel=1e-6)
    assert made["parameters_digest"] == tensors_digest(found)


def test_averages_are_in_a_file_where_the_spec_has_them(place: Place) -> None:
    spec = {**SPEC.to_dict(), "train": {**SPEC.to_dict()["train"], "ema": 0.5}}
    assert place.end(spec=spec)[0] == 0
    (made,) = place.evidence["runs"]
    with np.load(place.folder / "made" / "tensors" / made["averages_file"]) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    assert made["averages_digest"] == tensors_digest(found)
    for name, value in PROGRAM.parameters.items():
        assert found[name] == pytest.approx(value * 0.75**4 * 0.5, rel=1e-6)
    assert place.end()[0] == 0
    assert not {"averages_file", "averages_digest"} & place.evidence["runs"][0].keys()


def test_a_session_is_opened_anew_only_where_it_must_be(place: Place) -> None:
    noise = [{"seed": seed, "unit": 1e-3} for seed in range(2)]
    runs = [
        run("a"),
        run("b"),
        run("c", "float64"),
        run("d", "float64", noise=noise[0]),
        run("e", "float64", noise=noise[1]),
        run("f", "float64", noise=noise[1], compiled=True),
    ]
    assert place.end(runs=runs)[0] == 0
    made = {entry["name"]: entry for entry in place.evidence["runs"]}
    assert [entry["why"].split()[1] for entry in made.values()] == ["1", "1", "2", "3", "3", "4"]
    assert made["b"]["losses"] == made["a"]["losses"]
    assert made["d"]["losses"] != made["e"]["losses"]
    assert made["e"]["losses"] == made["f"]["losses"]
    assert made["f"]["mode"] == "graph"


def test_a_loss_that_is_no_number_is_null(place: Place) -> None:
    spec = {**SPEC.to_dict(), "optimizer": {**SPEC.to_dict()["optimizer"], "lr": 1.5}}
    assert place.end(spec=spec)[0] == 0
    (made,) = place.evidence["runs"]
    assert [loss is None for loss in made["losses"]] == [False, True, False, False]
    assert None not in made["grad_norms"]


def test_a_fault_in_a_run_is_evidence_and_the_log_has_its_trace(place: Place) -> None:
    status, said, log = place.end(runs=[run(), run("half", "float16")])
    assert (status, said) == (1, "")
    assert place.evidence["error"] == {
        "kind": "ZeroDivisionError",
        "message": "halves are not divided here",
        "exit_code": 1,
    }
    assert [made["name"] for made in place.evidence["runs"]] == ["measured"]
    assert "Traceback (most recent call last)" in log


@pytest.mark.parametrize(
    ("changes", "kind", "message", "code"),
    [
        ({"device": "cuda"}, "UnsupportedError", "there is no GPU here", 2),
        ({"target": "nothing"}, "ModuleNotFoundError", "on_nothing", 1),
        ({"program": "/nowhere/program.npz"}, "FileNotFoundError", "No such file", 1),
        ({"spec": {**SPEC.to_dict(), "schema_version": 9}}, "InputError", "this stackproof reads version 1, not 9", 2),
        ({"spec": {**SPEC.to_dict(), "train": {"steps": 0}}}, "InputError", "train.steps: must be from 1", 2),
    ],
)
def test_what_cannot_be_begun_is_evidence(
    place: Place, changes: dict[str, Any], kind: str, message: str, code: int
) -> None:
    assert place.end(serve=True, **changes)[:2] == (1, "")
    error = place.evidence["error"]
    assert (error["kind"], error["exit_code"]) == (kind, code)
    assert message in error["message"]


def test_a_framework_that_ends_the_process_leaves_no_evidence(place: Place) -> None:
    status, _, log = place.end(threads=13)
    assert status == 1
    assert "a framework ends the process" in log
    assert not (place.folder / "made" / "evidence.json").exists()


def test_evidence_is_put_in_place_as_a_whole(place: Place) -> None:
    assert place.end()[0] == 0
    assert sorted(path.name for path in (place.folder / "made").iterdir()) == ["evidence.json", "tensors"]


def say(child: subprocess.Popen[str], **command: Any) -> dict[str, Any]:
    assert child.stdin is not None
    child.stdin.write(json.dumps(command) + "\n")
    child.stdin.flush()
    return hear(child)


def hear(child: subprocess.Popen[str]) -> dict[str, Any]:
    assert child.stdout is not None
    message: dict[str, Any] = json.loads(child.stdout.readline())
    return message


def test_serving_is_ready_when_the_evidence_is_written(place: Place, serving: subprocess.Popen[str]) -> None:
    assert hear(serving) == {"event": "ready"}
    assert [made["name"] for made in place.evidence["runs"]] == ["first", "measured"]


def test_serving_times_steps_until_it_is_told_to_quit(serving: subprocess.Popen[str]) -> None:
    hear(serving)
    for count in (1, 300, 0):
        answer = say(serving, do="steps", count=count)
        assert (answer["event"], answer["count"]) == ("steps", count)
        assert 0.0 <= answer["seconds"] < 30.0
        assert 0.0 <= answer["cpu_seconds"] < 30.0
    assert serving.stdin is not None
    serving.stdin.write('{"do": "quit"}\n')
    serving.stdin.flush()
    assert serving.wait(30) == 0
    assert serving.stdout is not None
    assert serving.stdout.read() == ""


def test_serving_ends_when_its_input_does(serving: subprocess.Popen[str]) -> None:
    hear(serving)
    assert serving.stdin is not None
    serving.stdin.close()
    assert serving.wait(30) == 3


def test_a_worker_ends_with_its_input_in_the_middle_of_a_run(place: Place) -> None:
    spec = {**SPEC.to_dict(), "train": {**SPEC.to_dict()["train"], "steps": 1_000_000}}
    with place.start(spec=spec) as child:
        time.sleep(0.5)
        assert child.poll() is None
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(30) == 3
    assert not (place.folder / "made" / "evidence.json").exists()


def longer(steps: int) -> dict[str, Any]:
    return {**SPEC.to_dict(), "optimizer": {**SPEC.to_dict()["optimizer"], "lr": 1e-3}, "train": {"steps": steps}}


def results(place: Place) -> list[tuple[Any, ...]]:
    keys = ("losses", "grad_norms", "parameters_digest")
    return [tuple(made[key] for key in keys) for made in place.evidence["runs"]]


def test_a_killed_run_goes_on_to_the_same_numbers(place: Place) -> None:
    spec, kept = longer(2000), place.folder / "kept"
    assert place.end(spec=spec)[0] == 0
    right = results(place)
    job = {"spec": spec, "checkpoint": {"folder": str(kept), "every": 20}}
    with place.start(**job) as child:
        while not list(kept.glob("measured/step-*.npz")):
            assert child.poll() is None
            time.sleep(0.001)
        child.kill()
    (place.folder / "made" / "evidence.json").unlink()
    assert place.end(**job, resume=True)[0] == 0
    assert results(place) == right
    (made,) = place.evidence["runs"]
    assert made["resumed_from"] % 20 == 0
    assert 0 < made["resumed_from"] < 2000
    # What is finished is not made again.
    assert place.end(**job, resume=True)[0] == 0
    assert results(place) == right
    assert place.evidence["runs"][0]["seconds"] == {"first_step": 0.0, "rest": 0.0}


def test_each_run_of_a_job_has_checkpoints_of_its_own(place: Place) -> None:
    kept, noise = place.folder / "kept", {"seed": 1, "unit": 1e-3}
    job = {
        "runs": [run("a"), run("b", "float64", noise=noise)],
        "checkpoint": {"folder": str(kept), "every": 3},
        "resume": True,
    }
    assert place.end(**job)[0] == 0
    right = results(place)
    assert [made["resumed_from"] for made in place.evidence["runs"]] == [None, None]
    assert place.end(**job)[0] == 0
    assert [made["resumed_from"] for made in place.evidence["runs"]] == [3, 3]
    assert results(place) == right
    # Another noise is another run.
    job["runs"] = [run("a"), run("b", "float64", noise={**noise, "seed": 2})]
    assert place.end(**job)[0] == 1
    assert "a checkpoint of another run" in place.evidence["error"]["message"]


def test_a_folder_with_checkpoints_is_not_begun_anew(place: Place) -> None:
    job = {"checkpoint": {"folder": str(place.folder / "kept"), "every": 2}}
    assert place.end(**job)[0] == 0
    assert place.end(**job)[0] == 1
    error = place.evidence["error"]
    assert (error["kind"], error["exit_code"]) == ("InputError", 2)
    assert "resume from them, remove them, or give another folder" in error["message"]

"""Specs with a command of their own, taken all the way: trained, certified, reported, reused, refused."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from numpy_fleet import PYTHON, SPEC, Fleet, make_source

from stackproof.backends.spec_workload import Workload, workload_tables
from stackproof.compat.errors import InputError
from stackproof.matrix.comparison import compare
from stackproof.matrix.config import Matrix
from stackproof.matrix.pipeline import Request, certify
from stackproof.matrix.site import Settings
from stackproof.matrix.spec_file import load_spec
from stackproof.matrix.training import FailedError, Run, train

if TYPE_CHECKING:
    from stackproof.backends.spec import Spec

ROOT = Path(__file__).parents[2]
TAG = f"py{PYTHON.replace('.', '')}"
OLD, NEW = f"torch1.0-{TAG}-own", f"torch2.0-{TAG}-own"
# Descends on x**2 / 2 from 1; what a stack does differently is stood in for by the venv that a run lies in.
SCRIPT = """
import json, os, sys, time

steps, seed = int(os.environ["STACKPROOF_STEPS"]), int(os.environ["STACKPROOF_SEED"])
with os.fdopen(int(os.environ["STACKPROOF_STEPS_FD"]), "w") as report:
    x = 1.0 + seed
    for step in range(1, steps + 1):
        loss = x * x / 2 {extra}
        report.write(json.dumps({{"step": step, "loss": loss, "grad_norm": abs(x), "samples": 4}}) + "\\n")
        report.flush()
        x -= 0.25 * x
        time.sleep(0.002)
    report.write(json.dumps({{"final": {{"parameters_digest": str(x)}}}}) + "\\n")
"""
LOSSES = [0.5 * 0.75 ** (2 * step) for step in range(4)]
# Which of the two stacks a command runs on, seen in the folder that it runs in.
IS_NEW = '("torch2.0" in os.getcwd())'


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch, source: Path, tmp_path: Path) -> Fleet:
    return Fleet(monkeypatch, source, tmp_path / "out")


def spec_of(folder: Path, extra: str = "", script: str = "", **workload: Any) -> Spec:
    (folder / "train.py").write_text(script or SCRIPT.format(extra=extra), encoding="utf-8")
    keys = "".join(f"{key} = {json.dumps(value)}\n" for key, value in workload.items())
    path = folder / "own.toml"
    path.write_text(f'[workload]\ncommand = ["python", "train.py"]\n{keys}[train]\nsteps = 4\n', encoding="utf-8")
    return load_spec(path)


def here(spec: Spec, **changes: Any) -> Run:
    return Run(spec, "torch==2.13.0", Path(sys.prefix), device="cpu", **changes)


def cells(report: dict[str, Any]) -> dict[str, Any]:
    return {cell["id"]: cell for cell in report["cells"]}


def outcomes(cell: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["outcome"] for check in cell["checks"]}


def why(cell: dict[str, Any], name: str) -> str:
    return next(str(check["why"]) for check in cell["checks"] if check["name"] == name)


def test_a_command_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKPROOF_CACHE", str(tmp_path / "cache"))
    made = train(here(spec_of(tmp_path)))
    assert made["losses"] == pytest.approx(LOSSES, rel=1e-15)
    assert made["grad_norms"] == pytest.approx([0.75**step for step in range(4)], rel=1e-15)
    assert float(made["final_params_digest"]) == pytest.approx(0.75**4)
    assert (made["backend"], made["mode"], made["device"]) == ("torch", "command", "cpu")
    assert made["tokens_or_samples_per_second"] == pytest.approx(4 * made["steps_per_second"])
    assert made["time_to_first_step_s"] > 0
    assert made["peak_memory_bytes"] > 2**20
    assert made["versions"]["numpy"]


def test_what_a_command_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    spec = spec_of(
        tmp_path,
        script="""
import json, os
told = {name: value for name, value in os.environ.items() if name.startswith(("STACKPROOF_S", "PYTHON", "OMP"))}
told["files"] = sorted(os.listdir("."))
with open(os.path.join(os.environ["STACKPROOF_SPEC_FOLDER"], "told.json"), "w") as file:
    json.dump(told, file)
with os.fdopen(int(os.environ["STACKPROOF_STEPS_FD"]), "w") as report:
    for step in range(1, 5):
        report.write('{"step": %d, "loss": 1}\\n' % step)
""",
    )
    made = train(here(spec, threads=3))
    assert (made["grad_norms"], made["final_params_digest"]) == ([], None)
    told = json.loads((tmp_path / "told.json").read_text())
    assert (told["STACKPROOF_STEPS"], told["STACKPROOF_SEED"], told["OMP_NUM_THREADS"]) == ("4", "0", "3")
    assert told["files"] == ["train.py"]
    assert "PYTHONPATH" not in told


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("print('Epoch 1')", "ended as if all were well before it reported a step"),
        ("raise ValueError('boom')", "its stderr ends with: ValueError: boom"),
    ],
)
def test_a_command_that_fails_is_a_run_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    monkeypatch.setenv("STACKPROOF_CACHE", str(tmp_path / "cache"))
    with pytest.raises(FailedError) as caught:
        train(here(spec_of(tmp_path, script=script)))
    assert str(caught.value).startswith("the command ended")
    assert said in str(caught.value)
    assert str(caught.value).count("the command ended") == 1
    assert caught.value.exit_code == 1


def test_the_log_of_a_command_that_fails_is_that_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKPROOF_CACHE", str(tmp_path / "cache"))
    script = "import sys\ntry:\n    {}['key']\nfinally:\n    print('nothing more', file=sys.stderr)"
    with pytest.raises(FailedError) as caught:
        train(here(spec_of(tmp_path, script=script)))
    assert str(caught.value).splitlines()[1:] == ["KeyError: 'key'"]


@pytest.mark.parametrize(
    ("changes", "option"),
    [
        ({"engine": "docker"}, "--engine"),
        ({"weights": Path("weights.safetensors")}, "--weights"),
        ({"keep": Path("kept")}, "--out"),
    ],
)
def test_what_does_not_go_with_a_command_is_refused(tmp_path: Path, changes: dict[str, Any], option: str) -> None:
    with pytest.raises(InputError, match=r"\[workload\]") as caught:
        train(here(spec_of(tmp_path), **changes))
    assert [fault.where for fault in caught.value.faults] == [option]


def test_a_command_is_not_compared_over_frameworks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a command of its own"):
        compare(spec_of(tmp_path), ["torch"], Settings())


def test_a_command_is_not_certified_in_an_image(tmp_path: Path) -> None:
    matrix = Matrix("m", "m.toml", (spec_of(tmp_path),), {"torch": ("2.13.0",), "python": ("3.11",)})
    with pytest.raises(
        InputError, match=r"own: a spec with \[workload\] runs in a venv only, not in an image of docker"
    ):
        certify(Request(matrix, tmp_path / "out", settings=Settings(engine="docker")))


def test_a_command_goes_all_the_way(fleet: Fleet, tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    report, _ = fleet.certify(fleet.matrix(SPEC, spec))
    found = cells(report)
    assert {cell["verdict"] for cell in found.values()} == {"certified"}
    assert outcomes(found[OLD]) == {
        "trajectory": "skip", "determinism": "pass", "versions": "pass", "throughput": "skip",
    }  # fmt: skip
    assert outcomes(found[NEW]) == dict.fromkeys(("trajectory", "determinism", "versions", "throughput"), "pass")
    assert why(found[OLD], "trajectory") == "this is the baseline that others are held against"
    assert found[NEW]["curves"]["loss"] == pytest.approx(LOSSES)
    assert found[NEW]["throughput"]["steps_per_second"] < 500
    assert [entry["reference"] is None for entry in report["specs"]] == [False, True]
    assert report["specs"][1]["summary"] == "python train.py, 4 steps"
    made = json.loads((fleet.folder / "certificates" / f"{NEW}.json").read_text(encoding="utf-8"))
    assert made["spec"]["digest"] == spec.digest
    assert made["program_digest"] == spec.workload.digest  # type: ignore[union-attr] # it has one
    for name in ("report.html", "report.md", "junit.xml"):
        assert "own" in (fleet.folder / name).read_text(encoding="utf-8")


def test_what_was_run_is_reused_until_the_script_changes(fleet: Fleet, tmp_path: Path) -> None:
    fleet.certify(fleet.matrix(spec_of(tmp_path), rounds=0))
    again, _ = fleet.certify(fleet.matrix(spec_of(tmp_path), rounds=0))
    assert (again["totals"]["runs_made"], again["totals"]["runs_reused"]) == (0, 2)
    changed, _ = fleet.certify(fleet.matrix(spec_of(tmp_path, extra="+ 1"), rounds=0))
    assert (changed["totals"]["runs_made"], changed["totals"]["runs_reused"]) == (2, 0)


@pytest.mark.parametrize(
    ("extra", "tolerance", "verdict"),
    [
        (f"* (1 + 0.0005 * {IS_NEW})", 1e-3, "certified"),
        (f"* (1 + 0.005 * {IS_NEW})", 1e-3, "drifted"),
        (f"* (1 + 0.05 * {IS_NEW})", 1e-3, "incorrect"),
        (f"* (1 + 0.05 * {IS_NEW})", 0.1, "certified"),
        (f"+ (float('nan') if {IS_NEW} else 0)", 1e-3, "incorrect"),
    ],
)
def test_losses_are_held_against_the_baseline(
    fleet: Fleet, tmp_path: Path, extra: str, tolerance: float, verdict: str
) -> None:
    report, _ = fleet.certify(fleet.matrix(spec_of(tmp_path, extra=extra, tolerance=tolerance), rounds=0))
    assert {name: cell["verdict"] for name, cell in cells(report).items()} == {OLD: "certified", NEW: verdict}


def test_losses_are_held_against_the_reference(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "losses.json").write_text(json.dumps({"losses": LOSSES}), encoding="utf-8")
    report, _ = fleet.certify(fleet.matrix(spec_of(tmp_path, reference="losses.json"), rounds=0))
    assert {outcomes(cell)["trajectory"] for cell in report["cells"]} == {"pass"}
    (tmp_path / "losses.json").write_text(json.dumps([*LOSSES[:3], 2 * LOSSES[3]]), encoding="utf-8")
    report, _ = fleet.certify(fleet.matrix(spec_of(tmp_path, reference="losses.json"), rounds=0))
    assert {cell["verdict"] for cell in report["cells"]} == {"incorrect"}
    assert "loss at step 4" in why(report["cells"][0], "trajectory")


def test_a_loss_that_is_no_number_is_incorrect_and_leaves_others_untested(fleet: Fleet, tmp_path: Path) -> None:
    report, _ = fleet.certify(fleet.matrix(spec_of(tmp_path, extra=f"+ (0 if {IS_NEW} else 1e999)"), rounds=0))
    found = cells(report)
    assert (found[OLD]["verdict"], found[NEW]["verdict"]) == ("incorrect", "untested")
    assert found[OLD]["reasons"] == ["the loss at step 1 is not a finite number"]
    assert "not finite" in found[NEW]["reasons"][0]


def test_a_command_that_does_not_repeat_itself_is_incorrect(fleet: Fleet, tmp_path: Path) -> None:
    report, _ = fleet.certify(fleet.matrix(spec_of(tmp_path, extra="* (1 + os.getpid() * time.time_ns() % 997)")))
    assert {cell["verdict"] for cell in report["cells"]} == {"incorrect"}
    assert {outcomes(cell)["determinism"] for cell in report["cells"]} == {"fail"}


def test_a_command_that_gets_slower_has_regressed(fleet: Fleet, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, extra=f"+ 0 * (time.sleep(0.02 * {IS_NEW}) or 0)")
    report, _ = fleet.certify(fleet.matrix(spec, rounds=6, minimum_ratio=0.5))
    assert cells(report)[NEW]["verdict"] == "regressed"
    assert cells(report)[NEW]["throughput"]["ratio"] < 0.4


def test_a_command_that_fails_breaks_its_cell_only(fleet: Fleet, tmp_path: Path) -> None:
    report, _ = fleet.certify(fleet.matrix(spec_of(tmp_path, extra=f"+ 1 / (1 - {IS_NEW})"), rounds=0))
    found = cells(report)
    assert (found[OLD]["verdict"], found[NEW]["verdict"]) == ("certified", "broken")
    assert "its stderr ends with: ZeroDivisionError" in found[NEW]["reasons"][0]


def test_the_memory_of_a_command_counts(fleet: Fleet, tmp_path: Path) -> None:
    extra = f"+ 0 * len(held := bytes([1]) * (2**28 * {IS_NEW})) + (time.sleep(0.5) or 0)"
    matrix = fleet.matrix(spec_of(tmp_path, extra=extra), rounds=0)
    matrix = replace(matrix, run=replace(matrix.run, memory_limit=150))
    report, _ = fleet.certify(matrix)
    found = cells(report)
    assert (found[OLD]["verdict"], found[NEW]["verdict"]) == ("certified", "broken")
    assert "above its limit of 150 MiB" in found[NEW]["reasons"][0]


def test_a_command_whose_baseline_did_not_run_is_untested(fleet: Fleet, tmp_path: Path) -> None:
    report, _ = fleet.certify(fleet.matrix(spec_of(tmp_path, extra=f"+ 1 / {IS_NEW}"), rounds=0))
    found = cells(report)
    assert (found[OLD]["verdict"], found[NEW]["verdict"]) == ("broken", "untested")
    assert found[NEW]["reasons"] == [f"its baseline {OLD} did not run"]


def test_the_script_of_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKPROOF_CACHE", str(tmp_path / "cache"))
    page = (ROOT / "docs" / "workload.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    made = train(here(spec_of(tmp_path, script=f"def train_step():\n    return 2.5\n{code}")))
    assert made["losses"] == [2.5] * 4


def test_the_page_names_every_key_with_its_default() -> None:
    page = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^## `\[workload\]`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    rows = [[part.strip() for part in line.split("|")] for line in section.splitlines() if line.startswith("| `")]
    usual = workload_tables(Workload(), 1, 0)["workload"]
    assert {row[1].strip("`"): row[3].strip("`") for row in rows} == {k: json.dumps(v) for k, v in usual.items()}


def test_the_example_learns_and_repeats_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKPROOF_CACHE", str(tmp_path / "cache"))
    spec = load_spec(ROOT / "examples" / "own_loop.toml")
    first, second = train(here(spec)), train(here(spec))
    # The loss of weights that are zero is that of a coin.
    assert first["losses"][0] == pytest.approx(math.log(2.0), rel=1e-12)
    assert first["losses"][-1] < 0.5
    assert (first["losses"], first["final_params_digest"]) == (second["losses"], second["final_params_digest"])


def test_nothing_is_left_when_stackproof_is_killed(tmp_path: Path) -> None:
    script = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setsid()
with open(os.path.join(os.environ["STACKPROOF_SPEC_FOLDER"], "pids"), "a") as file:
    file.write(f"{os.getpid()}\\n")
time.sleep(60)
"""
    spec_of(tmp_path, script=script)
    code = "import sys; from stackproof.matrix.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["train", str(tmp_path / "own.toml"), "--backend", "torch", "--env", sys.prefix]
    variables = {**os.environ, "STACKPROOF_CACHE": str(tmp_path / "cache")}
    parent = subprocess.Popen([sys.executable, "-c", code, *words], env=variables, stderr=subprocess.DEVNULL)
    pids = _wait_for_two(tmp_path / "pids")
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 20
    while any(map(_is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_is_alive, pids))


def _wait_for_two(path: Path) -> list[int]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        pids = path.read_text().split() if path.exists() else []
        if len(pids) == 2:
            return [int(pid) for pid in pids]
        time.sleep(0.1)
    raise AssertionError("the command did not start")


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

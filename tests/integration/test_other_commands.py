"""`train`, `compare`, `plan` and `report` on real frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from command_line import living
from tiny import MLP, THREE, comparable, eager, forget, read_report, write_matrix

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import CommandLine
    from conftest import Certified

FILES = ("report.json", "report.html", "report.md", "junit.xml")


def test_train_in_an_environment_made_for_it(certified: Certified, cache: Path, command: CommandLine) -> None:
    spec = certified.matrix.parent / "mlp.toml"
    ended = command.run("train", spec, "--backend", "jax==0.10.2", "--json")
    assert ended.code == 0, ended.err
    made = ended.json
    assert next(iter(made)) == "schema_version"
    assert (made["backend"], made["mode"], made["versions"]["jax"]) == ("jax", "xla", "0.10.2")
    curves = certified.report["cells"][1]["curves"]
    assert (made["losses"], made["grad_norms"]) == (curves["loss"], curves["grad_norm"])
    assert made["steps_per_second"] > 0
    assert made["peak_memory_bytes"] > 2**20
    assert list((cache / "train").iterdir()) == [], "nothing of a run is left behind"


def test_train_in_a_venv_of_the_users_own(certified: Certified, cache: Path, command: CommandLine) -> None:
    spec = certified.matrix.parent / "mlp.toml"
    venv = next(path for path in cache.glob("envs/*/") if list(path.glob("lib/*/site-packages/jax-0.9.2.dist-info")))
    words = ("train", spec, "--backend", "jax", "--env", venv)
    ended = command.run(*words, "--set", "train.steps=2", "--set", "train.precision=float64", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["versions"]["jax"] == "0.9.2"
    assert len(ended.json["losses"]) == 2
    other = command.run("train", spec, "--backend", "torch", "--env", venv)
    assert other.code == 2
    assert f"{venv} does not have torch: install it there" in other.err
    assert "Error" not in other.err
    nowhere = command.run("train", spec, "--backend", "jax", "--env", venv / "lib")
    assert nowhere.code == 2
    assert "is no venv" in nowhere.err
    for told in (other, nowhere):
        assert "Traceback" not in told.err


def test_train_compiled_where_paths_hold_spaces(command: CommandLine, tmp_path: Path) -> None:
    """The compiler that torch calls is given paths without quotes."""
    write_matrix(tmp_path, THREE, MLP.replace("steps = 6", "steps = 2"))
    cache = tmp_path / "it's a cache"
    words = ("train", tmp_path / "mlp.toml", "--backend", "torch==2.13.0", "--set", "train.mode=compiled", "--json")
    ended = command.run(*words, STACKPROOF_CACHE=str(cache))
    assert ended.code == 0, ended.err
    assert ended.json["mode"] == "inductor"


def test_train_interrupted(certified: Certified, cache: Path, command: CommandLine) -> None:
    running = command.start("train", certified.matrix.parent / "mlp.toml", "--backend", "jax==0.10.2")
    running.wait_until(lambda: any("worker-" in line for line in living(running.family).values()), "a worker")
    running.interrupt()
    ended = running.end()
    assert ended.code == 4
    assert "interrupted" in ended.err
    assert "--resume" not in ended.err, "train has nothing to go on with"
    assert "Traceback" not in ended.err
    assert running.left(5.0) == []
    assert list((cache / "train").iterdir()) == []


def test_compare_three_frameworks(command: CommandLine, tmp_path: Path) -> None:
    write_matrix(tmp_path, THREE, eager())
    names = ",".join(f"{package}=={versions[0]}" for package, versions in THREE.items())
    words = ("compare", tmp_path / "mlp.toml", "--backends", names, "--json")
    ended = command.run(*words)
    assert ended.code == 0, ended.err
    found = ended.json
    assert found["verdict"] == "agree"
    assert found["float64"]["largest"] <= found["float64"]["allowed"] == 1e-9
    assert list(found["backends"]) == ["torch", "tensorflow", "jax"]
    for backend in found["backends"].values():
        assert backend["float64"]["max_relative_difference"] <= 1e-9
        assert backend["within"] is True
        assert backend["max_relative_difference"] < 1e-5
        assert len(backend["losses"]) == len(backend["envelope"]) == 6
    again = command.run(*words, "--quiet")
    assert again.code == 0
    assert again.json == found
    assert again.err == ""


def test_plan_before_and_after(certified: Certified, command: CommandLine, tmp_path: Path) -> None:
    before = command.run("plan", certified.matrix, "--out", tmp_path / "nothing", "--json")
    assert before.code == 0, before.err
    assert [(cell["lock"], cell["run"]) for cell in before.json["cells"]] == [("to be resolved", "to be made")] * 2
    assert before.json["totals"] == {"cells": 2, "pruned": 0, "runs_reused": 0, "estimated_seconds": None}
    assert not (tmp_path / "nothing").exists()
    held = {path: path.stat().st_mtime_ns for path in certified.folder.rglob("*")}
    after = command.run("plan", certified.matrix, "--out", certified.folder, "--json")
    assert [cell["id"] for cell in after.json["cells"]] == [cell["id"] for cell in certified.report["cells"]]
    assert [(cell["lock"], cell["run"]) for cell in after.json["cells"]] == [("reused", "reused")] * 2
    assert after.json["totals"] == {"cells": 2, "pruned": 0, "runs_reused": 2, "estimated_seconds": 0.0}
    assert {path: path.stat().st_mtime_ns for path in certified.folder.rglob("*")} == held, "planning changes nothing"
    shown = command.run("plan", certified.matrix, "--out", certified.folder)
    assert "2 cells, 2 of them run already" in shown.out


def test_report_writes_the_reports_again(copied: Certified, command: CommandLine) -> None:
    before = {name: (copied.folder / name).read_text() for name in FILES}
    for name in ("report.html", "report.md", "junit.xml"):
        (copied.folder / name).unlink()
    ended = command.run("report", copied.folder, "--json")
    assert ended.code == 0, ended.err
    assert {name: (copied.folder / name).read_text() for name in FILES} == before
    assert comparable(ended.json) == comparable(read_report(copied.folder))
    shown = command.run("report", copied.folder)
    assert "2 of 2 cells certified" in shown.out


def test_report_of_nothing(certified: Certified, command: CommandLine, tmp_path: Path) -> None:
    ended = command.run("report", tmp_path)
    assert ended.code == 2
    assert str(tmp_path) in ended.err
    assert "certify leaves one when it comes to its end" in ended.err
    (tmp_path / "report.json").write_bytes((certified.folder / "report.json").read_bytes()[:-100])
    cut = command.run("report", tmp_path)
    assert cut.code == 2
    assert "cannot be read as JSON" in cut.err


def test_measuring_needs_an_environment_that_was_removed(
    copied: Certified, command: CommandLine, tmp_path: Path
) -> None:
    """A store without its measurement, and a cache without environments: what is missing is made again."""
    forget(copied.folder, "measure")
    ended = command.run(
        "certify", copied.matrix, "--out", copied.folder, "--json", STACKPROOF_CACHE=str(tmp_path / "cache")
    )
    assert ended.code == 0, ended.err
    assert ended.json["totals"]["runs_made"] == 0
    assert ended.json["cells"][1]["throughput"]["rounds"]

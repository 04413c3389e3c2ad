"""The whole way, with stand-ins for frameworks and package index: what is made, reused, told and left behind."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from numpy_fleet import PYTHON, SPEC, Counter, Fleet, make_source

from stackproof.backends.spec import Optimizer
from stackproof.compat.cell import Stack
from stackproof.compat.errors import BusyError, InputError, StoppedError
from stackproof.matrix import lanes
from stackproof.matrix.expand import expand
from stackproof.matrix.lanes import run_lanes
from stackproof.matrix.pipeline import Request, certify
from stackproof.matrix.site import Settings, open_site
from stackproof.matrix.store import Store, sole_use

if TYPE_CHECKING:
    from pathlib import Path

TAG = f"py{PYTHON.replace('.', '')}"
OLD, NEW = f"torch1.0-{TAG}", f"torch2.0-{TAG}"
SECOND = replace(SPEC, name="second", optimizer=Optimizer(lr=0.5))
WRONG = replace(SPEC, name="wrong", optimizer=Optimizer(lr=3.0))
LOST = replace(SPEC, name="lost", optimizer=Optimizer(lr=1.5))


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch, source: Path, tmp_path: Path) -> Fleet:
    return Fleet(monkeypatch, source, tmp_path / "out")


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    return {cell["id"]: cell["verdict"] for cell in report["cells"]}


def without_times(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report without what another run of the same may say otherwise."""
    cells = [
        {name: value for name, value in cell.items() if name not in {"reused", "seconds"}} for cell in report["cells"]
    ]
    totals = {
        key: value for key, value in report["totals"].items() if key not in {"seconds", "runs_reused", "runs_made"}
    }
    return {**report, "created": "", "cells": cells, "totals": totals}


def test_every_cell_goes_all_the_way(fleet: Fleet) -> None:
    report, counter = fleet.certify(fleet.matrix(SPEC, SECOND))
    assert verdicts(report) == {f"{stack}-{spec}": "certified" for stack in (OLD, NEW) for spec in ("tiny", "second")}
    assert (report["totals"]["runs_made"], report["totals"]["runs_reused"]) == (4, 0)
    for cell in report["cells"]:
        outcomes = {check["name"]: check["outcome"] for check in cell["checks"]}
        speed = "skip" if cell["baseline"] else "pass"
        assert outcomes == {
            "trajectory": "pass",
            "reference": "pass",
            "determinism": "pass",
            "versions": "pass",
            "throughput": speed,
        }
        assert (cell["throughput"] is None) is cell["baseline"]
        assert cell["level"] == "trained-cpu"
    assert sorted(counter.events) == sorted(
        [
            *(f"{stage} {stack} made" for stage in ("resolve", "build") for stack in (OLD, NEW)),
            *(f"run {stack}-{spec} made" for stack in (OLD, NEW) for spec in ("tiny", "second")),
            *(f"measure {NEW}-{spec} made" for spec in ("tiny", "second")),
        ]
    )


def test_the_folder_holds_what_was_promised(fleet: Fleet) -> None:
    report, _ = fleet.certify(fleet.matrix())
    kept = json.loads((fleet.folder / "report.json").read_text(encoding="utf-8"))
    assert kept["cells"][0]["id"] == f"{OLD}-tiny"
    assert all((fleet.folder / name).stat().st_size for name in ("report.html", "report.md", "junit.xml"))
    for cell in report["cells"]:
        made = json.loads((fleet.folder / "certificates" / f"{cell['id']}.json").read_text(encoding="utf-8"))
        assert (made["cell"], made["verdict"], made["signature"]) == (cell["id"], "certified", None)
        assert made["evidence"] == cell["evidence"]
        assert all((fleet.folder / "evidence" / f"{digest}.json").is_file() for digest in made["evidence"])
        lock = json.loads((fleet.folder / "locks" / f"{cell['id']}.json").read_text(encoding="utf-8"))
        assert lock["digest"] == made["lock_digest"] == cell["lock_digest"]
        assert "numpy==" in (fleet.folder / "locks" / f"{cell['id']}.txt").read_text(encoding="utf-8")
    # Working files of cells that went all the way are not kept.
    assert [path.suffix for path in (fleet.folder / "work").iterdir()] == [".zip"]


def test_nothing_changed_means_nothing_is_done(fleet: Fleet) -> None:
    first, _ = fleet.certify(fleet.matrix(SPEC, SECOND))
    fleet.built.clear()
    second, counter = fleet.certify(fleet.matrix(SPEC, SECOND))
    assert (second["totals"]["runs_made"], second["totals"]["runs_reused"], fleet.built) == (0, 4, [])
    assert {event.split()[-1] for event in counter.events} == {"reused"}
    assert without_times(second) == without_times(first)
    assert all(all(cell["reused"].values()) for cell in second["cells"])


@pytest.mark.parametrize(
    ("changes", "made"),
    [
        # Only the spec that is new, and only the stack that is new.
        ({"specs": (SPEC, SECOND)}, {f"run {OLD}-second", f"run {NEW}-second", f"measure {NEW}-second"}),
        ({"torch": ("1.0", "2.0", "3.0")}, {f"{stage} torch3.0-{TAG}" for stage in ("resolve", "build")}
         | {f"{stage} torch3.0-{TAG}-tiny" for stage in ("run", "measure")}),
        # Another way to measure is no other run.
        ({"rounds": 7}, {f"measure {NEW}-tiny"}),
        # From which ratio on a cell has regressed is judged afterwards.
        ({"minimum_ratio": 0.02}, set()),
    ],
)  # fmt: skip
def test_only_what_changed_is_made(fleet: Fleet, changes: dict[str, Any], made: set[str]) -> None:
    fleet.certify(fleet.matrix())
    specs = changes.pop("specs", ())
    _, counter = fleet.certify(fleet.matrix(*specs, **changes))
    assert {event.removesuffix(" made") for event in counter.events if event.endswith(" made")} == made


def test_everything_is_made_again_when_it_is_asked(fleet: Fleet) -> None:
    fleet.certify(fleet.matrix())
    report, counter = fleet.certify(fleet.matrix(), fresh=True)
    assert report["totals"]["runs_made"] == 2
    assert {event.split()[0] for event in counter.events if event.endswith("made")} == {"resolve", "run", "measure"}


def test_evidence_that_was_altered_is_refused_and_mended_as_the_message_says(fleet: Fleet) -> None:
    report, _ = fleet.certify(fleet.matrix())
    path = fleet.folder / "evidence" / f"{report['cells'][0]['evidence'][0]}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    blob = fleet.folder / "evidence" / document["runs"][0]["parameters_blob"]
    for damaged in (path, blob):
        damaged.write_bytes(damaged.read_bytes()[:-20])
        with pytest.raises(Exception, match=f"{damaged.name} .*certify with --fresh"):
            fleet.certify(fleet.matrix())
        assert verdicts(fleet.certify(fleet.matrix(), fresh=True)[0])[f"{OLD}-tiny"] == "certified"


def test_a_stack_that_cannot_be_resolved_stops_no_other(fleet: Fleet) -> None:
    fleet.unresolvable = {"1.0"}
    report, counter = fleet.certify(fleet.matrix(SPEC, SECOND))
    assert verdicts(report) == {
        f"{OLD}-tiny": "broken",
        f"{OLD}-second": "broken",
        f"{NEW}-tiny": "certified",
        f"{NEW}-second": "certified",
    }
    first = report["cells"][0]
    assert (first["level"], first["lock_digest"]) == ("declared", None)
    assert first["reasons"] == [f"resolving {OLD}: there is no such version"]
    assert f"resolve {OLD} failed" in counter.events
    # Its candidate is measured alone: there is nothing to hold it against.
    assert f"measure {NEW}-tiny made" in counter.events
    assert not (fleet.folder / "locks" / f"{OLD}-tiny.txt").exists()


def test_a_stack_that_a_rule_rules_out_is_not_tried_and_stops_no_other(fleet: Fleet) -> None:
    """PyTorch 1.0 has wheels for Python 3.5 to 3.7; of 99.0 nothing is known."""
    report, counter = fleet.certify(fleet.matrix(SPEC, SECOND, torch=("1.0", "99.0"), prune=True))
    tried = f"torch99.0-{TAG}"
    assert verdicts(report) == {
        f"{OLD}-tiny": "incompatible",
        f"{OLD}-second": "incompatible",
        f"{tried}-tiny": "certified",
        f"{tried}-second": "certified",
    }
    assert [event for event in counter.events if OLD in event] == [f"check {OLD} failed"]
    assert [stack for stack in fleet.built if stack.startswith("torch1.0")] == []
    pruned = report["cells"][0]
    assert (pruned["level"], pruned["lock_digest"], pruned["evidence"], pruned["log"]) == ("declared", None, [], None)
    (finding,) = pruned["findings"]
    assert (finding["code"], finding["severity"]) == ("SP601", "error")
    assert pruned["reasons"][0] == f"SP601: {finding['message']}"
    assert pruned["reasons"][-1] == "stackproof explain SP601 says more"
    assert all(fix in pruned["reasons"][1] for fix in finding["fix"])
    assert (report["totals"]["incompatible"], report["totals"]["runs_made"]) == (2, 2)


def test_the_candidate_of_a_baseline_that_was_not_tried_is_measured_alone(fleet: Fleet) -> None:
    report, counter = fleet.certify(fleet.matrix(torch=("1.0", "99.0"), prune=True))
    candidate = report["cells"][1]
    assert candidate["findings"] == []
    assert candidate["throughput"] is None
    speed = next(check for check in candidate["checks"] if check["name"] == "throughput")
    assert (speed["outcome"], speed["why"]) == ("skip", f"speed was not measured beside its baseline {OLD}-tiny")
    assert f"measure torch99.0-{TAG}-tiny made" in counter.events


def test_what_was_not_tried_has_a_certificate_and_no_lock(fleet: Fleet) -> None:
    report, _ = fleet.certify(fleet.matrix(torch=("1.0", "99.0"), prune=True))
    made = json.loads((fleet.folder / "certificates" / f"{OLD}-tiny.json").read_text(encoding="utf-8"))
    assert (made["verdict"], made["level"], made["lock_digest"]) == ("incompatible", "declared", None)
    assert made["findings"] == report["cells"][0]["findings"]
    assert not (fleet.folder / "locks" / f"{OLD}-tiny.json").exists()


def test_a_matrix_in_which_nothing_can_work_has_its_report(fleet: Fleet) -> None:
    report, counter = fleet.certify(fleet.matrix(torch=("1.0",), prune=True))
    assert (verdicts(report), fleet.built) == ({f"{OLD}-tiny": "incompatible"}, [])
    assert counter.events == [f"check {OLD} failed"]
    assert report["specs"][0]["reference"]["agrees"] is False
    assert (report["totals"]["incompatible"], report["totals"]["runs_made"]) == (1, 0)
    assert all((fleet.folder / name).stat().st_size for name in ("report.html", "report.md", "junit.xml"))


def test_without_pruning_what_ran_before_is_found_again(fleet: Fleet) -> None:
    unpruned, _ = fleet.certify(fleet.matrix(torch=("1.0",)))
    assert verdicts(unpruned) == {f"{OLD}-tiny": "certified"}
    fleet.certify(fleet.matrix(torch=("1.0",), prune=True))
    again, _ = fleet.certify(fleet.matrix(torch=("1.0",)))
    assert (again["totals"]["runs_made"], again["totals"]["runs_reused"]) == (0, 1)
    assert without_times(again) == without_times(unpruned)


def test_a_stack_that_cannot_be_built_stops_no_other_and_is_untested(fleet: Fleet) -> None:
    fleet.unbuildable = {"torch2.0"}
    report, counter = fleet.certify(fleet.matrix(SPEC, SECOND))
    assert [cell["verdict"] for cell in report["cells"]] == ["certified", "certified", "untested", "untested"]
    assert report["cells"][2]["level"] == "resolved"
    assert f"build {NEW} failed" in counter.events


def test_a_run_that_fails_stops_no_other_and_is_not_tried_again(fleet: Fleet) -> None:
    for how in ("failed", "reused"):
        report, counter = fleet.certify(fleet.matrix(SPEC, WRONG))
        assert [cell["verdict"] for cell in report["cells"]] == ["certified", "broken"] * 2
        broken = report["cells"][1]
        assert broken["reasons"] == ["OverflowError: this rate leads nowhere"]
        assert any("OverflowError" in line for line in broken["log"])
        assert f"run {OLD}-wrong {how}" in counter.events
        # What is left of it can be looked at.
        assert (fleet.folder / "work" / f"{OLD}-wrong" / "worker.log").is_file()


def test_a_run_that_diverges_everywhere_is_judged_and_certified_as_nothing(fleet: Fleet) -> None:
    report, _ = fleet.certify(fleet.matrix(LOST))
    assert [cell["verdict"] for cell in report["cells"]] == ["incorrect"] * 2
    assert "not a finite number" in " ".join(report["cells"][0]["reasons"])
    kept = (fleet.folder / "certificates" / f"{OLD}-lost.json").read_text(encoding="utf-8")
    assert json.loads(kept)["verdict"] == "incorrect"
    assert "NaN" not in kept
    assert "Infinity" not in kept


@pytest.mark.parametrize("rounds", [0, 1])
def test_few_rounds_are_said_to_be_few(fleet: Fleet, rounds: int) -> None:
    report, _ = fleet.certify(fleet.matrix(rounds=rounds))
    speed = report["cells"][1]["throughput"]
    assert speed is None if rounds == 0 else (len(speed["rounds"]), speed["confidence"]) == (1, 0.0)
    outcomes = {check["name"]: check["outcome"] for check in report["cells"][1]["checks"]}
    assert outcomes["determinism"] == "pass"


def test_the_measurement_cannot_be_made_without_an_environment(fleet: Fleet) -> None:
    fleet.certify(fleet.matrix())
    fleet.unbuildable = {"torch1.0"}
    report, counter = fleet.certify(fleet.matrix(rounds=8))
    assert verdicts(report) == {f"{OLD}-tiny": "untested", f"{NEW}-tiny": "untested"}
    speed = next(check for check in report["cells"][1]["checks"] if check["name"] == "throughput")
    assert speed["outcome"] == "skip"
    assert "no space left" in speed["why"]
    assert f"measure {NEW}-tiny failed" in counter.events


def test_cells_are_chosen_by_their_ids(fleet: Fleet) -> None:
    report, counter = fleet.certify(fleet.matrix(SPEC, SECOND), cells="*2.0*-tiny")
    assert verdicts(report) == {f"{NEW}-tiny": "certified"}
    assert not any(OLD in event for event in counter.events)
    with pytest.raises(InputError, match="matches no cell"):
        fleet.certify(fleet.matrix(), cells="jax*")


def test_an_interrupted_run_is_gone_on_with(fleet: Fleet) -> None:
    class Interrupting(Counter):
        def finish(self, stage: str, subject: str, seconds: float, *, reused: bool) -> None:
            super().finish(stage, subject, seconds, reused=reused)
            if stage == "run":
                cancel.set()

    cancel = threading.Event()
    settings = Settings(jobs=1, reporter=Interrupting(), cancel=cancel, source=fleet._source)
    with pytest.raises(StoppedError, match="stopped"):
        certify(Request(fleet.matrix(SPEC, SECOND), fleet.folder, settings=settings))
    assert not (fleet.folder / "report.json").exists()
    report, counter = fleet.certify(fleet.matrix(SPEC, SECOND), resume=True)
    assert set(verdicts(report).values()) == {"certified"}
    assert f"run {OLD}-tiny reused" in counter.events
    assert report["totals"]["runs_reused"] >= 1
    with pytest.raises(InputError, match="leave --resume out"):
        fleet.certify(fleet.matrix(SPEC), resume=True)


def test_a_folder_in_use_is_refused(fleet: Fleet) -> None:
    with sole_use(fleet.folder), pytest.raises(BusyError, match="is using"):
        fleet.certify(fleet.matrix())


def test_a_framework_of_another_kind_joins_the_reference(fleet: Fleet) -> None:
    matrix = replace(fleet.matrix(torch=("1.0",)), include=(Stack("jax", "1.0", PYTHON),))
    report, _ = fleet.certify(matrix)
    assert set(verdicts(report).values()) == {"certified"}
    assert report["specs"][0]["reference"]["frameworks"] == ["jax", "torch"]
    assert report["specs"][0]["reference"]["agrees"] is True


def test_a_fault_in_one_lane_stops_the_others_and_is_raised(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(lanes, "make_run", fail)
    matrix = fleet.matrix(SPEC, SECOND)
    cells = expand(matrix)
    with Store(tmp_path / "other") as store:
        site = open_site(tmp_path / "other", store, matrix, Settings(jobs=1, source=fleet._source))
        with pytest.raises(RuntimeError, match="a fault of ours"):
            run_lanes(site, cells, dict.fromkeys(cells))
    assert site.cancel.is_set()

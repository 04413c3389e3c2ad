"""Cells in images: what their inspection makes of verdict, level, reasons and checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from inspected import FAULTS, IMAGE, answer, looked
from judged import Blobs, evidence, lock_of, record, run_document

from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train
from stackproof.compat.verdict import Check
from stackproof.matrix.judge.cell import Judgement, judge_cell
from stackproof.matrix.judge.image import check_image
from stackproof.matrix.judge.spec import judge_spec
from stackproof.matrix.judge.verdict import explain_failed, find_verdict
from stackproof.matrix.records import Failure, Made, Measured

if TYPE_CHECKING:
    from stackproof.matrix.records import CellRecord

SPEC = Spec("tiny", Mlp(), Data(), Optimizer(), Schedule(), Train(steps=4))
START = {"program": "program", "data": "data"}
LOCK = lock_of(torch="2.13.0+cpu", numpy="2.4.6")
LOOKED = ("linking", "cuda-libraries", "architectures", "symbols", "packages", "hygiene", "drivers")
# As docs/report.md says under Verdicts.
VERDICTS = {**dict.fromkeys(LOOKED, "broken"), "architectures": "incompatible", "drivers": "incompatible"}
CRASH = Failure("crash", "the worker ended with status 1")
AWAY = Failure("outside", "the engine ended", outside=True)


def in_image(document: dict[str, Any] | None, found: Any = None, failure: Failure | None = None) -> CellRecord:
    """Return a cell's record: what was trained, and what was found in its image."""
    for run in (document or {}).get("runs", ()):
        run.setdefault("image_digest", IMAGE["content_digest"])
    repeat = None if document is None else Made(Measured(document["runs"][0]))
    return replace(record(document, failure=failure, measured=repeat), inspected=Made(found))


def judged(mine: CellRecord, blobs: Blobs) -> Judgement:
    return judge_cell(mine, judge_spec(SPEC, START, [mine], blobs), 0.9)


def outcomes(found: Judgement) -> dict[str, str]:
    return {check.name: check.outcome for check in found.checks}


def test_a_sound_image_is_certified_and_its_checks_come_before_those_of_the_run() -> None:
    blobs = Blobs()
    found = judged(in_image(evidence(blobs), looked(LOCK, answer("580.65.06"))), blobs)
    assert (found.verdict, found.level, found.reasons) == ("certified", "trained-cpu", ())
    assert list(outcomes(found))[: len(LOOKED)] == list(LOOKED)
    assert {name for name, outcome in outcomes(found).items() if outcome == "skip"} == {"cuda-libraries", "throughput"}
    assert {"trajectory", "reference", "determinism", "versions"} < outcomes(found).keys()


@pytest.mark.parametrize("digest", ["3" * 64, None], ids=["another", "none"])
def test_a_run_in_another_image_than_the_one_looked_into_shows_nothing_of_it(digest: str | None) -> None:
    blobs = Blobs()
    document = evidence(blobs)
    document["runs"][-1]["image_digest"] = digest
    found = judged(in_image(document, looked(LOCK, answer("580.65.06"))), blobs)
    assert found.verdict == "broken"
    assert [check for check, outcome in outcomes(found).items() if outcome == "fail"] == ["image"]


@pytest.mark.parametrize("name", LOOKED)
def test_each_check_of_an_image_decides_the_verdict_that_is_documented(name: str) -> None:
    blobs, (changes, words) = Blobs(), FAULTS[name]
    found = judged(in_image(evidence(blobs), looked(LOCK, answer("580.65.06"), **changes)), blobs)
    assert (found.verdict, found.level) == (VERDICTS[name], "trained-cpu")
    assert [check for check, outcome in outcomes(found).items() if outcome == "fail"] == [name]
    assert len(found.reasons) == 1
    assert words in found.reasons[0]


@pytest.mark.parametrize("name", LOOKED)
def test_an_image_that_fails_decides_although_its_run_failed_outside(name: str) -> None:
    found = judged(in_image(None, looked(LOCK, **FAULTS[name][0]), AWAY), Blobs())
    assert found.verdict == VERDICTS[name]
    assert found.reasons[0] == "the engine ended"
    assert FAULTS[name][1] in found.reasons[1]


@pytest.mark.parametrize(("failure", "verdict"), [(CRASH, "broken"), (AWAY, "untested"), (None, "untested")])
def test_a_cell_that_did_not_run_keeps_the_checks_of_its_image(failure: Failure | None, verdict: str) -> None:
    found = judged(in_image(None, looked(LOCK), failure), Blobs())
    assert (found.verdict, found.level) == (verdict, "inspected")
    assert tuple(outcomes(found)) == LOOKED
    assert found.reasons == (failure.reason if failure else "it was not run",)


def test_a_crash_in_an_image_that_fails_is_broken_and_tells_both() -> None:
    found = judged(in_image(None, looked(LOCK, **FAULTS["architectures"][0]), CRASH), Blobs())
    assert found.verdict == "broken"
    assert found.reasons[0] == "the worker ended with status 1"
    assert "no code for compute capability 9.0" in found.reasons[1]


def test_an_inspection_that_failed_outside_leaves_a_cell_that_trained_untested() -> None:
    blobs = Blobs()
    document = evidence(blobs)
    sound = in_image(document)
    found = judged(replace(sound, inspected=Made(failure=AWAY)), blobs)
    assert (found.verdict, found.level, found.reasons) == ("untested", "trained-cpu", ("the engine ended",))
    assert not outcomes(found).keys() & set(LOOKED)
    assert judged(sound, blobs).verdict == "certified"


@pytest.mark.parametrize(
    ("answers", "level"),
    [
        ([], "inspected"),
        ([answer("580.65.06")], "simulated"),
        ([answer("535.183.01", loads=False, predicted=False)], "simulated"),
        ([answer("580.65.06", loads=None, error="it did not end within 60 s")], "inspected"),
        ([answer("580.65.06", loads=None, error="it did not end"), answer("575.57.08")], "simulated"),
    ],
    ids=["no driver", "starts", "refuses", "no answer", "one answer"],
)
def test_simulated_is_what_a_runtime_answered_to(answers: list[Any], level: str) -> None:
    assert judged(in_image(None, looked(LOCK, *answers), AWAY), Blobs()).level == level


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_level_that_was_trained_is_above_those_of_an_image(device: str) -> None:
    blobs = Blobs()
    document = evidence(blobs)
    document["platform"]["device"] = device
    found = judged(in_image(document, looked(LOCK, answer("580.65.06"))), blobs)
    assert found.level == {"cpu": "trained-cpu", "cuda": "trained-gpu"}[device]


def test_without_an_inspection_no_check_and_no_level_of_an_image_is_claimed() -> None:
    found = judged(replace(record(None, failure=AWAY), inspected=Made()), Blobs())
    assert (found.level, found.checks) == ("resolved", ())
    assert check_image(replace(in_image(None, looked(LOCK)), lock=Made())) == ()


def test_what_the_base_brings_is_not_missed_among_the_packages() -> None:
    lock = lock_of(torch="2.13.0+cpu", numpy="2.4.6", nvidia_cudnn_cu13="9.26.0.51")
    there = {"torch": "2.13.0+cpu", "numpy": "2.4.6"}
    mine = replace(in_image(None, looked(lock, packages=there)), lock=Made(lock))
    omitting = replace(mine, inspected=Made(looked(lock, packages=there, omitted=("nvidia-cudnn-cu13",))))
    outcome = [{check.name: check.outcome for check in check_image(one)}["packages"] for one in (mine, omitting)]
    assert outcome == ["fail", "pass"]


@pytest.mark.parametrize(
    ("gpu", "outcome"), [("H100", "pass"), ("A100", "fail"), ("", "skip"), ("no such GPU", "skip")]
)
def test_code_is_held_against_the_gpu_of_the_document(gpu: str, outcome: str) -> None:
    checks = {check.name: check for check in check_image(in_image(None, looked(LOCK, gpu=gpu)))}
    assert checks["architectures"].outcome == outcome


def failing(*names: str) -> list[Check]:
    return [Check(name, "fail", None, None, f"{name} decides") for name in names]


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        (("drivers", "throughput"), "incompatible"),
        (("drivers", "trajectory"), "incompatible"),
        (("drivers", "reference"), "incorrect"),
        (("architectures", "determinism"), "incorrect"),
        (("hygiene", "determinism", "drivers"), "broken"),
        (("linking", "architectures"), "broken"),
    ],
)
def test_the_gravest_of_image_and_run_decides(names: tuple[str, ...], verdict: str) -> None:
    assert find_verdict(failing(*names), None) == (verdict, [f"{name} decides" for name in names])


def test_only_what_failed_is_explained() -> None:
    checks = [Check("linking", "pass", None, None, "all found"), *failing("symbols"), *failing("hygiene")]
    assert explain_failed(checks) == ("symbols decides", "hygiene decides")


def test_a_run_that_differs_is_repeated_in_an_image_as_in_a_venv() -> None:
    blobs = Blobs()
    document = evidence(blobs)
    other = run_document(blobs, "measured", (4.0, 3.0, 2.0, 1.0), parameters_digest="other bits")
    other["image_digest"] = IMAGE["content_digest"]
    mine = replace(in_image(document, looked(LOCK)), measured=Made(Measured(other)))
    assert judged(mine, blobs).verdict == "incorrect"

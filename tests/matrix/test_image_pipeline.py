"""The whole way in images, with stand-ins for engine, frameworks and index: what is made, reused, kept and left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from image_fleet import AWAY, PINS, LocalContainer, LocalImages, put_in_place
from numpy_fleet import PYTHON, Fleet, make_source

from stackproof.containers.rendering.settings import ImageSettings

if TYPE_CHECKING:
    from pathlib import Path

    from stackproof.matrix.config import Matrix

TAG = f"py{PYTHON.replace('.', '')}"
OLD, NEW = f"torch1.0-{TAG}", f"torch2.0-{TAG}"
LOOKED = ("linking", "cuda-libraries", "architectures", "symbols", "packages", "hygiene", "drivers")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch, source: Path, tmp_path: Path) -> Fleet:
    return Fleet(monkeypatch, source, tmp_path / "out")


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> LocalImages:
    made = LocalImages()
    put_in_place(monkeypatch, made)
    return made


def matrix_of(fleet: Fleet, *, torch: tuple[str, ...] = ("1.0",)) -> Matrix:
    return replace(fleet.matrix(torch=torch, rounds=0), bases=PINS)


def certify(fleet: Fleet, matrix: Matrix) -> tuple[dict[str, Any], list[str]]:
    report, counter = fleet.certify(matrix, engine="docker")
    assert LocalContainer.left == []
    return report["cells"][0], counter.events


def outcomes(cell: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["outcome"] for check in cell["checks"]}


def test_a_cell_in_an_image_is_built_inspected_run_and_repeated_in_containers(
    fleet: Fleet, images: LocalImages
) -> None:
    cell, events = certify(fleet, matrix_of(fleet))
    assert (cell["verdict"], cell["level"]) == ("certified", "trained-cpu"), cell
    assert events == [f"{stage} {OLD} made" for stage in ("resolve", "build", "inspect")] + [
        f"{stage} {OLD}-tiny made" for stage in ("run", "measure")
    ]
    assert set(LOOKED) < outcomes(cell).keys()
    assert cell["image"]["content_digest"] == "2" * 64
    assert cell["image_digest"] == f"sha256:{'2' * 64}"
    assert cell["image"]["base"].startswith("team:base@sha256:")
    assert "lock_digest" not in cell["image"]
    assert (len(cell["evidence"]), cell["seconds"].keys() >= {"inspect", "run"}) == (3, True)
    assert len(LocalContainer.asked) == 2
    assert images.looked == [(cell["image"]["id"], [])]


def test_nothing_of_the_host_reaches_a_worker_in_a_container(
    fleet: Fleet, images: LocalImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY", "LD_PRELOAD", "PYTHONPATH", "UV_INDEX"):
        monkeypatch.setenv(name, "of the host")
    monkeypatch.delenv("LD_PRELOAD")
    certify(fleet, matrix_of(fleet))
    assert images.built
    for request in LocalContainer.asked:
        assert "of the host" not in request.variables.values()
        assert not request.variables.keys() & {"AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY", "PATH", "PYTHONPATH", "UV_INDEX"}
        assert request.variables["HOME"] == "/job"
        assert request.user == ""
        assert request.capabilities == ()
        assert not request.gpus
        assert all(path.startswith("/job/") for path in request.files)


def test_the_second_time_no_image_is_built_and_none_is_looked_into(fleet: Fleet, images: LocalImages) -> None:
    first, _ = certify(fleet, matrix_of(fleet))
    again, events = certify(fleet, matrix_of(fleet))
    assert again["checks"] == first["checks"]
    assert again["image"] == first["image"]
    assert all(again["reused"].values())
    assert images.built == [OLD]
    assert len(images.looked) == 1
    assert f"inspect {OLD} reused" in events
    assert not any(event.endswith("made") for event in events)


def test_another_driver_asks_the_image_again_and_trains_nothing_again(
    fleet: Fleet, images: LocalImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    certify(fleet, matrix_of(fleet))
    ran = len(LocalContainer.asked)
    put_in_place(monkeypatch, replace(images, settings=ImageSettings(drivers=("535.183.01",))))
    _, events = certify(fleet, matrix_of(fleet))
    assert images.looked[-1][1] == ["535.183.01"]
    assert (f"inspect {OLD} made" in events, f"run {OLD}-tiny reused" in events) == (True, True)
    assert ran == 2
    assert LocalContainer.asked == []


def test_an_inspection_that_failed_outside_leaves_the_cell_untested_until_it_is_made(
    fleet: Fleet, images: LocalImages
) -> None:
    images.fails["inspect"] = AWAY
    cell, events = certify(fleet, matrix_of(fleet))
    assert (cell["verdict"], cell["level"]) == ("untested", "trained-cpu")
    assert cell["reasons"] == ["the engine ended meanwhile."]
    assert cell["image"] is None
    assert f"inspect {OLD} failed" in events
    images.fails.clear()
    cell, events = certify(fleet, matrix_of(fleet))
    assert cell["verdict"] == "certified"
    assert (f"inspect {OLD} made" in events, f"run {OLD}-tiny reused" in events) == (True, True)


def test_a_cell_that_trained_is_not_certified_while_its_image_cannot_be_looked_into(
    fleet: Fleet, images: LocalImages
) -> None:
    # Its run is in the store, its inspection is not, and the image can no longer be made.
    images.fails["inspect"] = AWAY
    certify(fleet, matrix_of(fleet))
    images.fails["build"] = AWAY
    cell, events = certify(fleet, matrix_of(fleet))
    assert (cell["verdict"], cell["reasons"]) == ("untested", ["the engine ended meanwhile."])
    assert events.count(f"build {OLD} failed") == 1


def test_a_cell_that_was_inspected_and_cannot_run_keeps_its_checks(
    fleet: Fleet, images: LocalImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: LocalContainer) -> None:
        raise AWAY

    monkeypatch.setattr(LocalContainer, "start", refuse)
    monkeypatch.setattr(LocalContainer, "remove", lambda _: None)
    cell, _ = certify(fleet, matrix_of(fleet))
    assert (cell["verdict"], cell["level"]) == ("untested", "inspected")
    assert tuple(outcomes(cell)) == LOOKED
    images.fails["build"] = AWAY
    cell, _ = certify(fleet, matrix_of(fleet))
    assert (cell["verdict"], cell["level"], tuple(outcomes(cell))) == ("untested", "inspected", LOOKED)


def test_an_image_that_fails_its_inspection_is_broken_however_well_it_trains(fleet: Fleet, images: LocalImages) -> None:
    images.found["listening"] = ["tcp 0.0.0.0:22"]
    cell, _ = certify(fleet, matrix_of(fleet))
    assert (cell["verdict"], cell["level"]) == ("broken", "trained-cpu")
    assert any("tcp 0.0.0.0:22 listens" in reason for reason in cell["reasons"])


def test_speed_is_compared_between_images(fleet: Fleet, images: LocalImages) -> None:
    matrix = replace(fleet.matrix(rounds=6), bases=PINS)
    report, counter = fleet.certify(matrix, engine="docker")
    old, new = report["cells"]
    assert (old["id"], new["id"]) == (f"{OLD}-tiny", f"{NEW}-tiny")
    assert new["throughput"] is not None, counter.events
    assert len(new["throughput"]["rounds"]) == 6
    assert images.built == [OLD, NEW]
    assert LocalContainer.left == []


def test_a_venv_has_no_stage_and_no_check_of_images(fleet: Fleet, images: LocalImages) -> None:
    report, counter = fleet.certify(matrix_of(fleet))
    cell = report["cells"][0]
    assert (cell["image"], cell["image_digest"]) == (None, None)
    assert not outcomes(cell).keys() & set(LOOKED)
    assert not any(event.startswith("inspect") for event in counter.events)
    assert (images.built, LocalContainer.asked) == ([], [])


def test_runs_in_a_venv_are_not_taken_for_those_in_an_image(fleet: Fleet, images: LocalImages) -> None:
    fleet.certify(matrix_of(fleet))
    _, events = certify(fleet, matrix_of(fleet))
    assert f"run {OLD}-tiny made" in events
    images.key_of.append("another base")
    _, events = certify(fleet, matrix_of(fleet))
    assert f"run {OLD}-tiny made" in events


def test_runs_of_one_engine_are_not_taken_for_those_of_another(
    fleet: Fleet, images: LocalImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    certify(fleet, matrix_of(fleet))
    put_in_place(monkeypatch, replace(images, engine=replace(images.engine, kind="podman")))
    cell, events = certify(fleet, matrix_of(fleet))
    assert (f"run {OLD}-tiny made" in events, f"inspect {OLD} made" in events) == (True, True)
    assert cell["image"]["engine"] == "podman"

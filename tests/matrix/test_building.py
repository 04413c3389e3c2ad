"""Images only: what is built, written and told, with stand-ins for engine and index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import image_fleet
import pytest
from image_fleet import AWAY, GONE, PINS, LocalImages, put_in_place
from numpy_fleet import PYTHON, Counter, Fleet

from stackproof.compat.cell import Stack
from stackproof.compat.errors import InputError, StackproofError
from stackproof.containers.bases.pins import Pins
from stackproof.matrix.building import Order, build_images
from stackproof.matrix.site import Settings

if TYPE_CHECKING:
    from stackproof.matrix.config import Matrix

TAG = f"py{PYTHON.replace('.', '')}"
OLD, NEW = f"torch1.0-{TAG}", f"torch2.0-{TAG}"


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> LocalImages:
    made = LocalImages()
    put_in_place(monkeypatch, made)
    return made


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fleet:
    return Fleet(monkeypatch, tmp_path / "none", tmp_path / "out")


@pytest.fixture
def matrix(fleet: Fleet) -> Matrix:
    return replace(fleet.matrix(), bases=PINS)


def build(fleet: Fleet, matrix: Matrix, cells: str = "", write: Path | None = None) -> list[dict[str, Any]]:
    """Build, and hold the counts of progress against each other."""
    counter = Counter()
    made = build_images(Order(matrix, fleet.folder, cells, write, Settings(reporter=counter, engine="docker")))
    assert counter.done == counter.total, counter.events
    assert (made["schema_version"], made["engine"]) == (1, "docker")
    entries: list[dict[str, Any]] = made["images"]
    return entries


def test_every_stack_is_built_once_whatever_its_specs(fleet: Fleet, images: LocalImages, matrix: Matrix) -> None:
    second = replace(matrix.specs[0], name="second")
    old, new = build(fleet, replace(matrix, specs=(*matrix.specs, second)))
    assert images.built == [OLD, NEW]
    assert (old["stack"], new["stack"]) == (OLD, NEW)
    assert (old["built"], old["reused"], old["size"]) == (True, False, 3072)
    assert old["layers"] == [["base", 2048], ["framework", 1024]]
    assert old["lock_digest"] != new["lock_digest"]


def test_what_is_there_is_said_to_be_reused(fleet: Fleet, images: LocalImages, matrix: Matrix) -> None:
    build(fleet, matrix, f"{OLD}*")
    (again,) = build(fleet, matrix, f"{OLD}*")
    assert (again["built"], again["reused"], again["seconds"]) == (True, True, 0.0)
    assert images.built == [OLD, OLD]


def test_a_stack_without_a_lock_fails_alone_and_is_no_fault_of_the_outside(
    fleet: Fleet, images: LocalImages, matrix: Matrix
) -> None:
    fleet.unresolvable.add("1.0")
    old, new = build(fleet, matrix)
    assert (old["built"], old["outside"]) == (False, False)
    assert "there is no such version" in old["why"]
    assert new["built"]
    assert images.built == [NEW]


def test_an_image_that_the_engine_does_not_build_is_the_outsides(
    fleet: Fleet, images: LocalImages, matrix: Matrix
) -> None:
    images.fails["build"] = AWAY
    old, new = build(fleet, matrix)
    assert [entry["outside"] for entry in (old, new)] == [True, True]
    assert (old["why"], old["log"]) == ("the engine ended meanwhile.", ["Start it again."])


def test_a_folder_to_build_by_hand_holds_its_files_and_nothing_is_built(
    fleet: Fleet, images: LocalImages, matrix: Matrix, tmp_path: Path
) -> None:
    (entry,) = build(fleet, matrix, f"{OLD}*", tmp_path / "made")
    folder = tmp_path / "made" / OLD
    assert entry["folder"] == str(folder)
    assert entry["lock_digest"] in (folder / "Dockerfile").read_text()
    assert (folder / "in" / "wheels" / f"{OLD}.whl").read_bytes() == Path(image_fleet.__file__).read_bytes()
    assert images.built == []


def test_a_folder_is_written_again_over_what_is_there(
    fleet: Fleet, images: LocalImages, matrix: Matrix, tmp_path: Path
) -> None:
    build(fleet, matrix, "", tmp_path)
    precious = tmp_path / "precious"
    precious.write_text("keep")
    dockerfile = tmp_path / OLD / "Dockerfile"
    dockerfile.unlink()
    dockerfile.symlink_to(precious)
    build(fleet, matrix, "", tmp_path)
    assert dockerfile.read_text().startswith("FROM")
    assert precious.read_text() == "keep"
    assert images.built == []


def test_a_folder_that_cannot_be_written_is_told_with_its_name_and_the_others_are_written(
    fleet: Fleet, images: LocalImages, matrix: Matrix, tmp_path: Path
) -> None:
    (tmp_path / OLD).write_text("a file is in the way")
    old, new = build(fleet, matrix, "", tmp_path)
    assert (old["built"], old["outside"]) == (False, True)
    assert str(tmp_path / OLD) in old["why"]
    assert (tmp_path / OLD).read_text() == "a file is in the way"
    assert (tmp_path / NEW / "Dockerfile").exists()
    assert "folder" in new
    assert images.built == []


@pytest.mark.parametrize(("error", "outside"), [(GONE, False), (AWAY, True)], ids=["gone from the index", "outside"])
def test_wheels_that_cannot_be_had_are_told(
    fleet: Fleet, images: LocalImages, matrix: Matrix, tmp_path: Path, error: StackproofError, *, outside: bool
) -> None:
    images.fails["files"] = error
    old, _ = build(fleet, matrix, "", tmp_path / "made")
    assert (old["built"], old["outside"]) == (False, outside)
    assert [old["why"], *old["log"]] == str(error).splitlines()
    assert not (tmp_path / "made").exists()


def test_a_stack_that_no_base_has_the_python_of_is_refused_before_anything_is_done(
    fleet: Fleet, images: LocalImages, matrix: Matrix
) -> None:
    with pytest.raises(InputError, match=r"no base image has Python") as caught:
        build(fleet, replace(matrix, bases=Pins({})))
    assert "axes.python" in str(caught.value)
    assert not fleet.folder.exists()
    assert images.built == []


def test_only_cells_that_are_there_can_be_chosen(fleet: Fleet, images: LocalImages, matrix: Matrix) -> None:
    with pytest.raises(InputError, match="jax"):
        build(fleet, matrix, "jax*")
    assert images.built == []


def test_without_an_engine_it_is_said_that_one_is_needed(fleet: Fleet, matrix: Matrix) -> None:
    with pytest.raises(StackproofError, match="--engine docker"):
        build_images(Order(matrix, fleet.folder, settings=Settings(engine="venv")))
    named = replace(matrix, include=(Stack("torch", "3.0", PYTHON, os="team:base"),))
    with pytest.raises(InputError, match="--engine docker"):
        build_images(Order(named, fleet.folder, settings=Settings(engine="venv")))

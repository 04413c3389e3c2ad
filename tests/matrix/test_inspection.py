"""The stage that looks into images: what its results are kept under, and what is not kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from image_fleet import AWAY, ENGINE, PINS, LocalImages, put_in_place
from numpy_fleet import PYTHON, SPEC, Counter, lock_of

from stackproof.compat.cell import Stack
from stackproof.containers.rendering.settings import ImageSettings
from stackproof.matrix import inspection
from stackproof.matrix.config import Matrix
from stackproof.matrix.inspection import find_inspection, is_of, make_inspection
from stackproof.matrix.site import Settings, Site, open_site
from stackproof.matrix.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STACK = Stack("torch", "1.0", PYTHON)
LOCK = lock_of(STACK)


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> LocalImages:
    made = LocalImages()
    put_in_place(monkeypatch, made)
    return made


@pytest.fixture
def site(images: LocalImages, tmp_path: Path) -> Iterator[Site]:
    """Return a site with an engine, on a machine without GPU."""
    matrix = Matrix("one", "one.toml", (SPEC,), {"torch": ("1.0",), "python": (PYTHON,)}, bases=PINS)
    counter = Counter()
    counter.plan(100)
    with Store(tmp_path) as store:
        opened = open_site(tmp_path, store, matrix, Settings(reporter=counter, engine="docker"))
        assert opened.images is images
        yield replace(opened, machine=replace(opened.machine, gpu=None, driver=None))


def asking(site: Site, images: LocalImages, **changes: object) -> Site:
    return replace(site, images=replace(images, settings=replace(images.settings, **changes)))


def looked(site: Site) -> int:
    assert isinstance(site.images, LocalImages)
    made = make_inspection(site, STACK, LOCK, site.images.build(STACK, LOCK))
    assert made.value is not None
    return len(site.images.looked)


def is_there(site: Site) -> bool:
    return find_inspection(site, STACK, LOCK) is not None


def test_what_was_found_is_found_again_word_for_word(site: Site, images: LocalImages) -> None:
    assert not is_there(site)
    made = make_inspection(site, STACK, LOCK, images.build(STACK, LOCK))
    found = find_inspection(site, STACK, LOCK)
    assert found is not None
    assert (found.value, found.evidence, found.reused) == (made.value, made.evidence, True)
    assert made.value is not None
    assert list(made.value) == list(found.value or {})
    assert made.value["image"]["reference"] == f"stackproof/{STACK.id}:0"
    assert made.value["omitted"] == []


def test_another_question_is_another_result(site: Site, images: LocalImages) -> None:
    looked(site)
    assert is_there(asking(site, images))
    assert is_there(asking(site, images, labels={"a": "b"}))  # in the image's own key, which a stand-in has not
    assert not is_there(asking(site, images, drivers=("535.183.01",)))
    assert not is_there(asking(site, images, gpu="H100"))
    assert not is_there(replace(site, images=replace(images, engine=replace(ENGINE, kind="podman"))))
    assert not is_there(replace(site, images=replace(images, key_of=["another layer"])))
    assert not is_there(replace(site, fresh=True))


def test_another_inspector_looks_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    looked(site)
    assert is_there(site)
    monkeypatch.setattr(inspection, "pack_inspector", lambda: b"another")
    assert not is_there(site)


def test_the_gpu_of_the_machine_counts_unless_the_matrix_names_one(site: Site, images: LocalImages) -> None:
    looked(site)
    here = replace(site, machine=replace(site.machine, gpu="NVIDIA H100 80GB HBM3, NVIDIA H100 80GB HBM3"))
    assert not is_there(here)
    made = make_inspection(here, STACK, LOCK, images.build(STACK, LOCK))
    assert made.value is not None
    assert made.value["gpu"] == "NVIDIA H100 80GB HBM3"
    named = make_inspection(asking(here, images, gpu="A100"), STACK, LOCK, images.build(STACK, LOCK))
    assert named.value is not None
    assert named.value["gpu"] == "A100"


def test_a_gpu_that_is_not_known_is_held_against_nothing(site: Site, images: LocalImages) -> None:
    here = replace(site, machine=replace(site.machine, gpu="Some card of 2031"))
    made = make_inspection(here, STACK, LOCK, images.build(STACK, LOCK))
    assert made.value is not None
    assert made.value["gpu"] == ""
    assert is_there(site)


@pytest.mark.parametrize("fails", ["inspect", "drivers"])
def test_what_failed_outside_is_untested_and_not_kept(site: Site, images: LocalImages, fails: str) -> None:
    images.fails[fails] = AWAY
    made = make_inspection(site, STACK, LOCK, images.build(STACK, LOCK))
    assert made.value is None
    assert made.failure is not None
    assert (made.failure.outside, made.failure.reason) == (True, "the engine ended meanwhile.")
    assert not is_there(site)
    images.fails.clear()
    looked(site)
    assert is_there(site)


def test_every_driver_of_the_matrix_is_asked_about_by_its_level(
    site: Site, images: LocalImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(inspection, "ask_drivers", lambda *given, **_: asked.extend(given[4]) or {"answers": []})
    looked(asking(site, images, drivers=("535.183.01", "580.65.06", "12.4", "13.1")))
    assert asked == [("535.183.01", (12, 2)), ("580.65.06", (13, 0)), ("12.4", (12, 4)), ("13.1", (13, 1))]


def test_a_venv_is_not_looked_into(site: Site) -> None:
    venv = replace(site, images=None)
    found = find_inspection(venv, STACK, LOCK)
    assert found is not None
    assert (found.value, found.failure) == (None, None)
    made = make_inspection(venv, STACK, LOCK, LocalImages().build(STACK, LOCK))
    assert (made.value, made.failure) == (None, None)


def test_cuda_libraries_of_the_base_are_told(site: Site, images: LocalImages) -> None:
    own = asking(site, images, cuda="base")
    lock = replace(LOCK, packages=(*LOCK.packages, replace(LOCK.packages[0], name="nvidia-cudnn-cu13")))
    made = make_inspection(own, STACK, lock, images.build(STACK, lock))
    assert made.value is not None
    assert made.value["omitted"] == ["nvidia-cudnn-cu13"]
    wheels = make_inspection(asking(site, images, cuda="wheels"), STACK, lock, images.build(STACK, lock))
    assert wheels.value is not None
    assert wheels.value["omitted"] == []
    assert ImageSettings().cuda == "wheels"


def test_what_was_found_is_of_the_image_with_that_content_only(site: Site, images: LocalImages) -> None:
    image = images.build(STACK, LOCK)
    found = make_inspection(site, STACK, LOCK, image)
    assert is_of(found, image)
    assert is_of(found, replace(image, id=f"sha256:{'9' * 64}"))
    assert not is_of(found, replace(image, content_digest="9" * 64))

"""What an image sets for what runs in it, and what it says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dockerfiles import instructions, pairs
from image_parts import BASE, lock, package

from stackproof.compat.errors import InputError
from stackproof.containers.rendering.configuration import configure, cuda_major
from stackproof.containers.rendering.settings import ImageSettings

if TYPE_CHECKING:
    from stackproof.compat.lock import Lock

CUDA = lock("torch", package("nvidia-cuda-runtime", "13.2.86"), "numpy", build="cu132")
CPU = lock("torch", "numpy", build="cpu")


def said(held: Lock, word: str, **settings: object) -> dict[str, str]:
    text = configure(held, BASE, ImageSettings(**settings), "k" * 64)  # type: ignore[arg-type] # of the call below
    return {name: value for found, rest in instructions(text) if found == word for name, value in pairs(rest).items()}


def test_an_image_with_libraries_of_cuda_says_which_driver_it_needs() -> None:
    variables = said(CUDA, "ENV")
    assert variables["NVIDIA_REQUIRE_CUDA"] == "cuda>=13.0"
    assert variables["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert variables["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    assert "LD_LIBRARY_PATH" not in variables


def test_an_image_for_the_cpu_asks_for_no_gpu() -> None:
    assert set(said(CPU, "ENV")) == {"PATH"}


def test_by_route_base_the_libraries_of_the_base_are_found() -> None:
    variables = said(CUDA, "ENV", cuda="base")
    assert variables["LD_LIBRARY_PATH"] == "/usr/local/cuda/lib64"
    assert variables["NVIDIA_REQUIRE_CUDA"] == "cuda>=13.0"


def test_forward_compatibility_comes_first_and_lets_older_drivers_in() -> None:
    variables = said(CUDA, "ENV", cuda="base", forward_compat=True)
    assert variables["LD_LIBRARY_PATH"] == "/usr/local/cuda/compat:/usr/local/cuda/lib64"
    assert "NVIDIA_REQUIRE_CUDA" not in variables
    assert said(CUDA, "ENV", forward_compat=True)["LD_LIBRARY_PATH"] == "/usr/local/cuda/compat"


@pytest.mark.parametrize(
    ("held", "major"),
    [
        (CUDA, "13"),
        (lock(package("nvidia-cuda-runtime-cu12", "12.6.77"), build="cu126"), "12"),
        (lock("torch", build="cu118"), "11"),
        (CPU, ""),
        (lock("jax", build="default"), ""),
    ],
)
def test_the_major_of_cuda_is_that_of_its_runtime_or_of_the_build(held: Lock, major: str) -> None:
    assert cuda_major(held) == major


def test_labels_say_what_the_image_is() -> None:
    labels = said(CUDA, "LABEL", labels={"org.example.team": "vision"})
    assert labels["org.opencontainers.image.base.name"] == BASE.name
    assert labels["org.opencontainers.image.base.digest"] == BASE.digest
    assert labels["stackproof.lock-digest"] == CUDA.digest
    assert labels["stackproof.key"] == "k" * 64
    assert labels["org.example.team"] == "vision"


@pytest.mark.parametrize("key", ["stackproof.stack", "stackproof.own", "org.opencontainers.image.title"])
def test_labels_that_say_what_an_image_is_cannot_be_taken(key: str) -> None:
    with pytest.raises(InputError, match=key):
        said(CUDA, "LABEL", labels={key: "other"})


def test_a_label_of_the_standard_that_is_not_ours_can_be_given() -> None:
    assert (
        said(CPU, "LABEL", labels={"org.opencontainers.image.vendor": "Example"})["org.opencontainers.image.vendor"]
        == "Example"
    )

"""Stacks and cells, and the ids that name them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.compat.cell import FRAMEWORK_PACKAGES, Cell, Stack, short_os

VERSIONS = st.from_regex(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]", fullmatch=True)
STACKS = st.builds(
    Stack,
    st.sampled_from(sorted(FRAMEWORK_PACKAGES)),
    VERSIONS,
    st.sampled_from(["3.9", "3.10", "3.11", "3.14"]),
    st.lists(st.tuples(st.sampled_from(["numpy", "scipy", "ml-dtypes"]), VERSIONS), unique_by=lambda pin: pin[0]).map(
        lambda pins: tuple(sorted(pins))
    ),
    st.lists(st.sampled_from(["cuda", "cuda12", "and-cuda", "and"]), unique=True).map(
        lambda found: tuple(sorted(found))
    ),
    st.sampled_from(["", "debian:bookworm", "debian:trixie", "nvidia/cuda:13.0.1-base-ubuntu24.04"]),
)
DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (Stack("torch", "2.13.0", "3.11"), "torch2.13.0-py311"),
        (Stack("tensorflow-cpu", "2.21.0", "3.9"), "tensorflow-cpu2.21.0-py39"),
        (
            Stack("jax", "0.10.2", "3.12", (("numpy", "2.2.6"), ("scipy", "1.16.0"))),
            "jax0.10.2-py312-numpy2.2.6-scipy1.16.0",
        ),
        (Stack("jax", "0.10.2", "3.11", extras=("cuda12",)), "jax0.10.2-cuda12-py311"),
        (Stack("jax", "0.10.2", "3.11", extras=("cuda12", "k8s")), "jax0.10.2-cuda12_k8s-py311"),
        (Stack("torch", "2.13.0+cpu", "3.13", os="debian:trixie"), "torch2.13.0+cpu-py313-trixie"),
        (
            Stack("torch", "2.13.0", "3.11", (("jax", "0.10.2"), ("numpy", "2.2.6")), os="debian:bookworm"),
            "torch2.13.0-py311-jax0.10.2-numpy2.2.6-bookworm",
        ),
    ],
)
def test_ids_can_be_read(stack: Stack, expected: str) -> None:
    assert stack.id == expected
    assert Cell(stack, "gpt_tiny").id == f"{expected}-gpt_tiny"


@given(STACKS, STACKS)
def test_other_stacks_have_other_ids(left: Stack, right: Stack) -> None:
    assert (left.id == right.id) is (left == right)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("debian:bookworm", "bookworm"),
        ("ubuntu:24.04", "ubuntu-24.04"),
        ("nvidia/cuda:13.0.1-base-ubuntu24.04", "nvidia-cuda-13.0.1-base-ubuntu24.04"),
        (f"registry.example:5000/team/Base@sha256:{DIGEST}", "base-0123456789ab"),
        ("../../etc\n$(id) x", "..-..-etc-id-x"),
    ],
)
def test_a_base_image_has_a_short_name_that_fits_a_file_name(name: str, expected: str) -> None:
    assert short_os(name) == expected


@pytest.mark.parametrize(
    ("package", "framework"),
    [("torch", "torch"), ("tensorflow", "tensorflow"), ("tensorflow-cpu", "tensorflow"), ("jax", "jax")],
)
def test_a_package_brings_its_framework(package: str, framework: str) -> None:
    assert Stack(package, "1.0", "3.11").framework == framework


def test_requirements_are_the_framework_numpy_and_the_further_pins() -> None:
    assert Stack("torch", "2.13.0", "3.11").requirements == ("torch==2.13.0", "numpy")
    pinned = Stack("torch", "2.13.0", "3.11", (("numpy", "2.2.6"), ("scipy", "1.16.0")))
    assert pinned.requirements == ("torch==2.13.0", "numpy==2.2.6", "scipy==1.16.0")
    other = Stack("jax", "0.9.2", "3.11", (("scipy", "1.16.0"),))
    assert other.requirements == ("jax==0.9.2", "scipy==1.16.0", "numpy")


def test_extras_stand_with_the_framework_in_the_requirements() -> None:
    stack = Stack("jax", "0.10.2", "3.11", (("numpy", "2.2.6"),), ("cuda12", "k8s"), "debian:bookworm")
    assert stack.requirements == ("jax[cuda12,k8s]==0.10.2", "numpy==2.2.6")


def test_stacks_of_the_same_packages_have_the_same_requirements_whatever_specs_run_on() -> None:
    further = ("scipy", "1.16.0")
    torch = Stack("torch", "2.13.0", "3.11", (("jax", "0.10.2"), further))
    jax = Stack("jax", "0.10.2", "3.11", (further, ("torch", "2.13.0")))
    assert torch.requirements == jax.requirements == ("jax==0.10.2", "torch==2.13.0", "scipy==1.16.0", "numpy")
    assert (torch.framework, jax.framework) == ("torch", "jax")

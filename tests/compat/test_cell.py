"""Stacks and cells, and the ids that name them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.compat.cell import FRAMEWORK_PACKAGES, Cell, Stack

VERSIONS = st.from_regex(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]", fullmatch=True)
STACKS = st.builds(
    Stack,
    st.sampled_from(sorted(FRAMEWORK_PACKAGES)),
    VERSIONS,
    st.sampled_from(["3.9", "3.10", "3.11", "3.14"]),
    st.lists(st.tuples(st.sampled_from(["numpy", "scipy", "ml-dtypes"]), VERSIONS), unique_by=lambda pin: pin[0]).map(
        lambda pins: tuple(sorted(pins))
    ),
)


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (Stack("torch", "2.13.0", "3.11"), "torch2.13.0-py311"),
        (Stack("tensorflow-cpu", "2.21.0", "3.9"), "tensorflow-cpu2.21.0-py39"),
        (
            Stack("jax", "0.10.2", "3.12", (("numpy", "2.2.6"), ("scipy", "1.16.0"))),
            "jax0.10.2-py312-numpy2.2.6-scipy1.16.0",
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

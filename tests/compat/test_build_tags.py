"""Build tags as published wheels carry them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.compat.build_tags import BuildTag, read_build


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        (None, BuildTag()),
        ("cu121", BuildTag(cuda="12.1")),
        ("cu92", BuildTag(cuda="9.2")),
        ("cu101", BuildTag(cuda="10.1")),
        ("cu118", BuildTag(cuda="11.8")),
        ("cu130", BuildTag(cuda="13.0")),
        ("cpu", BuildTag(cpu=True)),
        ("cpu.cxx11.abi", BuildTag(cpu=True)),
        ("rocm6.2", BuildTag(rocm=True)),
        ("cuda110", BuildTag(cuda="11.0")),
        ("cuda111", BuildTag(cuda="11.1")),
        ("cuda11.cudnn86", BuildTag(cuda="11", cudnn="8.6")),
        ("cuda11.cudnn805", BuildTag(cuda="11", cudnn="8.0.5")),
        ("cuda12.cudnn89", BuildTag(cuda="12", cudnn="8.9")),
        ("cu118torch2.2cxx11abiTRUE", BuildTag(cuda="11.8", torch="2.2", cxx11_abi=True)),
        ("cu12torch2.5cxx11abiFALSE", BuildTag(cuda="12", torch="2.5", cxx11_abi=False)),
        ("pt21cu118", BuildTag(cuda="11.8", torch="2.1")),
        ("pt210cu128", BuildTag(cuda="12.8", torch="2.10")),
        ("pt23cpu", BuildTag(torch="2.3")),
        ("07cecf4168.nv24.05", BuildTag()),
        ("computecanada", BuildTag()),
    ],
)
def test_a_tag_says_what_the_wheel_was_built_for(tag: str | None, expected: BuildTag) -> None:
    assert read_build(tag) == expected


@given(st.text(max_size=60))
def test_any_tag_is_read(tag: str) -> None:
    found = read_build(tag)
    assert found.cuda is None or found.cuda.split(".")[0].isdigit()

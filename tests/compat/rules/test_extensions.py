"""Rules on compiled extensions of torch."""

from __future__ import annotations

import pytest
from judging import say, the


@pytest.mark.parametrize(
    ("torch", "extension", "version"),
    [
        ("2.2.0+cu118", "flash-attn", "2.5.5+cu118torch2.2cxx11abiTRUE"),
        ("2.7.0", "flash-attn", "2.8.0.post2+cu12torch2.7cxx11abiFALSE"),
        ("2.5.1", "flash-attn", "2.7.0.post2+cu12torch2.4cxx11abiFALSE"),
        ("2.5.1+cu118", "flash-attn", "2.7.0.post2+cu12torch2.5cxx11abiFALSE"),
        ("2.3.1+cu121", "torch-scatter", "2.1.2+pt22cu121"),
        ("2.3.1+cu121", "torch-scatter", "2.1.2+pt23cu118"),
    ],
)
def test_a_wheel_whose_tag_names_something_else_is_an_error(torch: str, extension: str, version: str) -> None:
    finding = the("SP504", {}, {"torch": torch, extension: version})
    assert (finding.severity, finding.components) == ("error", (extension, "torch"))


@pytest.mark.parametrize(
    ("torch", "extension", "version"),
    [
        ("2.2.0+cu118", "flash-attn", "2.5.5+cu118torch2.2cxx11abiFALSE"),
        ("2.5.1", "flash-attn", "2.7.0.post2+cu12torch2.5cxx11abiFALSE"),
        ("2.7.0", "flash-attn", "2.8.0.post2+cu12torch2.7cxx11abiTRUE"),
        ("2.3.1+cu121", "torch-scatter", "2.1.2+pt23cu121"),
        ("2.5.1", "flash-attn", "2.7.0.post2"),
        ("*", "flash-attn", "2.5.5+cu118torch2.2cxx11abiTRUE"),
    ],
)
def test_a_wheel_whose_tag_fits_is_fine(torch: str, extension: str, version: str) -> None:
    assert not say("SP504", {}, {"torch": torch, extension: version})


def test_a_toolkit_of_another_major_cannot_compile_extensions() -> None:
    finding = the("SP506", {"cuda": "12.0"}, {"torch": "2.0.1+cu118", "deepspeed": "*"})
    assert (finding.severity, finding.components) == ("error", ("deepspeed", "cuda", "torch"))


def test_without_extensions_to_compile_it_is_a_warning() -> None:
    assert the("SP506", {"cuda": "12.2"}, {"torch": "2.0.1+cu117"}).severity == "warning"


def test_another_minor_is_accepted_except_by_an_old_deepspeed() -> None:
    assert the("SP506", {"cuda": "12.4"}, {"torch": "2.3.0+cu121", "deepspeed": "0.14.0"}).severity == "note"
    assert the("SP506", {"cuda": "11.8"}, {"torch": "1.13.1+cu117", "deepspeed": "0.5.8"}).severity == "error"


@pytest.mark.parametrize("cuda", ["12.1", "12.1.105"])
def test_the_toolkit_of_the_build_is_fine(cuda: str) -> None:
    assert not say("SP506", {"cuda": cuda}, {"torch": "2.3.0+cu121", "deepspeed": "0.14.0"})
    assert not say("SP506", {"cuda": "11.8"}, {"torch": "2.3.0", "deepspeed": "0.14.0"})


@pytest.mark.parametrize("gpu", ["Tesla T4", "Tesla V100-SXM2-16GB"])
def test_flash_attention_2_needs_ampere(gpu: str) -> None:
    finding = the("SP206", {"gpu": gpu}, {"flash-attn": "2.5.8"})
    assert (finding.severity, finding.components) == ("error", ("flash-attn", "gpu"))


@pytest.mark.parametrize(("gpu", "release"), [("NVIDIA A100-SXM4-40GB", "2.5.8"), ("Tesla T4", "1.0.9"), ("T4", "*")])
def test_ampere_or_flash_attention_1_is_fine(gpu: str, release: str) -> None:
    assert not say("SP206", {"gpu": gpu}, {"flash-attn": release})


@pytest.mark.parametrize(("version", "severity"), [("2.5.8", "warning"), ("*", "error")])
def test_an_installed_flash_attn_may_be_a_wheel(version: str, severity: str) -> None:
    finding = the("SP506", {"cuda": "11.8"}, {"torch": "2.3.0+cu121", "flash-attn": version})
    assert finding.severity == severity

"""The rule on cuDNN: the major that a framework was built with, from its minor on."""

from __future__ import annotations

import pytest
from judging import say, the, verdict

PATH = {"LD_LIBRARY_PATH": "/opt/cudnn-8.0.3-cuda-11.0/lib64"}


@pytest.mark.parametrize(
    ("cudnn", "jaxlib"),
    [("8.5.0", "0.4.13+cuda11.cudnn86"), ("8.0.4", "0.1.65+cuda112"), ("9.1.0", "0.4.13+cuda11.cudnn86")],
)
def test_a_jaxlib_tag_names_the_floor(cudnn: str, jaxlib: str) -> None:
    finding = the("SP301", {"cudnn": cudnn}, {"jaxlib": jaxlib})
    assert (finding.severity, finding.components) == ("error", ("cudnn", "jaxlib"))


@pytest.mark.parametrize("cudnn", ["8.6.0", "8.9.7", "8"])
def test_the_same_or_a_newer_minor_serves(cudnn: str) -> None:
    assert not say("SP301", {"cudnn": cudnn}, {"jaxlib": "0.4.13+cuda11.cudnn86"})


@pytest.mark.parametrize(
    ("wheel", "version", "packages"),
    [
        ("nvidia-cudnn-cu12", "8.9.2.26", {"torch": "2.5.1+cu124"}),
        ("nvidia-cudnn-cu12", "9.1.0.70", {"torch": "2.8.0"}),
        ("nvidia-cudnn-cu12", "9.1.0.70", {"tensorflow": "2.18.0"}),
        ("nvidia-cudnn-cu12", "8.9.7.29", {"jaxlib": "0.4.30", "jax-cuda12-plugin": "0.4.30"}),
    ],
)
def test_a_wheel_that_is_too_old_is_an_error(wheel: str, version: str, packages: dict[str, str]) -> None:
    finding = the("SP301", {}, {wheel: version, **packages})
    assert finding.severity == "error"
    assert wheel in finding.components


@pytest.mark.parametrize(
    ("wheel", "version", "torch"),
    [
        ("nvidia-cudnn-cu12", "9.10.2.21", "2.5.1+cu124"),
        ("nvidia-cudnn-cu12", "9.1.1.17", "2.4.0"),
        ("nvidia-cudnn-cu11", "8.5.0.96", "2.5.1+cu124"),
        ("nvidia-cudnn-cu12", "8.9.2.26", "2.5.1+cpu"),
        ("nvidia-cudnn-cu11", "8.5.0.96", "2.0.1+cu118"),
    ],
)
def test_a_newer_minor_another_cuda_or_a_build_with_its_own_is_fine(wheel: str, version: str, torch: str) -> None:
    assert not say("SP301", {}, {wheel: version, "torch": torch})


def test_a_system_cudnn_counts_for_torch_only_where_the_loader_finds_it_first() -> None:
    packages = {"torch": "1.12.0+cu113"}
    assert not say("SP301", {"cudnn": "8.0.3"}, packages)
    finding = the("SP301", {"cudnn": "8.0.3"}, packages, env_vars=PATH)
    assert finding.components == ("cudnn", "torch", "LD_LIBRARY_PATH")
    assert "LD_LIBRARY_PATH" in finding.fix[-1]


def test_a_newer_cudnn_on_the_path_is_fine() -> None:
    assert not say("SP301", {"cudnn": "8.9.7"}, {"torch": "1.12.0+cu113"}, env_vars=PATH)


def test_tensorflow_may_find_another_cudnn_major_in_the_system() -> None:
    both = {"torch": "2.5.1+cu124", "tensorflow": "2.17.1", "nvidia-cudnn-cu12": "9.1.0.70"}
    finding = the("SP301", {}, both)
    assert (finding.severity, finding.undetermined) == ("warning", True)
    assert verdict({}, both) == "undetermined"
    assert not say("SP301", {"cudnn": "8.9.7"}, both)


def test_with_its_cuda_extra_tensorflow_takes_the_wheel() -> None:
    both = {"tensorflow": "2.17.1", "nvidia-cudnn-cu12": "9.1.0.70"}
    extras = {"tensorflow": frozenset({"and-cuda"})}
    assert the("SP301", {}, both, extras=extras).severity == "error"


def test_what_a_binary_says_of_itself_counts_for_every_package() -> None:
    built = (("jaxlib", "cudnn", "9.13.1"),)
    assert the("SP301", {"cudnn": "9.10.1"}, {"jaxlib": "*"}, built_against=built).severity == "error"
    assert not say("SP301", {"cudnn": "9.13.0"}, {"jaxlib": "*"}, built_against=built)

"""Rules on NCCL and on the majors that onnxruntime-gpu links."""

from __future__ import annotations

import pytest
from judging import missing_fixes, say, the


def test_an_nccl_older_than_the_one_torch_is_linked_with_is_an_error() -> None:
    finding = the("SP303", {}, {"torch": "2.2.0", "nvidia-nccl-cu12": "2.18.1"})
    assert (finding.severity, finding.components) == ("error", ("torch", "nccl", "nvidia-nccl-cu12"))
    assert finding.fix == ("nvidia-nccl-cu12==2.19.3",)
    assert missing_fixes(finding) == []


@pytest.mark.parametrize(
    "packages",
    [
        {"torch": "2.2.0+cu121", "nvidia-nccl-cu12": "2.19.3"},
        {"torch": "2.2.0", "nvidia-nccl-cu12": "2.23.4"},
        {"torch": "2.5.1+cu124", "nvidia-nccl-cu11": "2.14.3", "nvidia-nccl-cu12": "2.21.5"},
        {"torch": "*", "nvidia-nccl-cu12": "2.18.1"},
        {"torch": "2.2.0+cpu", "nvidia-nccl-cu12": "2.18.1"},
    ],
)
def test_its_own_a_newer_one_or_one_of_another_cuda_is_fine(packages: dict[str, str]) -> None:
    assert not say("SP303", {}, packages)


@pytest.mark.parametrize(
    ("release", "around", "component"),
    [
        ("1.19.0", {"cuda": "11.7"}, "cuda"),
        ("1.18.0", {"cuda": "12.1"}, "cuda"),
        ("1.19.2", {"cuda": "12.1", "cudnn": "8.9"}, "cudnn"),
        ("1.20.0", {"cudnn": "8.9.7"}, "cudnn"),
        ("1.27.0", {"cuda": "12.8"}, "cuda"),
    ],
)
def test_onnxruntime_of_another_major_is_an_error(release: str, around: dict[str, str], component: str) -> None:
    finding = the("SP308", around, {"onnxruntime-gpu": release})
    assert (finding.severity, finding.components) == ("error", ("onnxruntime-gpu", component))
    assert missing_fixes(finding) == []


@pytest.mark.parametrize(
    ("release", "around"),
    [
        ("1.19.2", {"cuda": "12.6", "cudnn": "9.5.1"}),
        ("1.18.0", {"cuda": "11.8", "cudnn": "8.9"}),
        ("1.27.0", {"cuda": "13.0"}),
        ("*", {"cuda": "11.8"}),
    ],
)
def test_any_minor_of_the_major_serves(release: str, around: dict[str, str]) -> None:
    assert not say("SP308", around, {"onnxruntime-gpu": release})


def test_wheels_of_cuda_are_found_before_the_toolkit() -> None:
    wheels = {"nvidia-cuda-runtime-cu12": "12.4.127", "nvidia-cudnn-cu12": "9.1.0.70"}
    assert not say("SP308", {"cuda": "11.8", "cudnn": "8.9"}, {"onnxruntime-gpu": "1.20.0", **wheels})


@pytest.mark.parametrize(
    ("release", "around", "component"),
    [
        ("2.1.0", {"cuda": "10.2.89"}, "cuda"),
        ("2.3.0", {"cuda": "11.2"}, "cuda"),
        ("2.10.1", {"cuda": "12.1"}, "cuda"),
        ("2.13.0", {"cuda": "11.8.0", "cudnn": "8.9.3.28+cuda12.1"}, "cudnn"),
    ],
)
def test_tensorflow_does_not_find_the_libraries_of_another_cuda(
    release: str, around: dict[str, str], component: str
) -> None:
    finding = the("SP311", around, {"tensorflow": release})
    assert (finding.severity, finding.components) == ("error", ("tensorflow", component))
    assert missing_fixes(finding) == []


@pytest.mark.parametrize(
    ("around", "packages"),
    [
        ({"cuda": "10.1.243"}, {"tensorflow": "2.3.0"}),
        ({"cuda": "11.3", "cudnn": "8.2"}, {"tensorflow": "2.4.1"}),  # of CUDA 11 every minor has one name
        ({"cuda": "11.0"}, {"tensorflow": "2.10.1"}),
        ({"cuda": "12.4"}, {"tensorflow": "2.14.0"}),  # may find wheels beside itself
        ({"cuda": "12.4"}, {"tensorflow": "2.13.0", "nvidia-cuda-runtime-cu11": "11.8.89"}),
        ({"cuda": "10.0.130"}, {"tensorflow": "*"}),
        ({"cuda": "11.8", "cudnn": "8.6.0+cuda11.8"}, {"tensorflow": "2.13.0"}),
    ],
)
def test_tensorflow_finds_the_libraries_of_its_cuda_name(around: dict[str, str], packages: dict[str, str]) -> None:
    assert not say("SP311", around, packages)


def test_conda_s_tensorflow_brings_a_toolkit_of_its_own() -> None:
    assert not say("SP311", {"cuda": "12.1"}, {"tensorflow": "2.10.1"}, origins=frozenset({"conda"}))


@pytest.mark.parametrize(
    ("release", "cuda", "wrong"), [("1.5.1", "10.1", 1), ("1.5.1", "10.2", 0), ("1.10.0", "11.3", 0)]
)
def test_before_cuda_11_onnxruntime_needs_the_same_minor(release: str, cuda: str, wrong: int) -> None:
    assert len(say("SP308", {"cuda": cuda}, {"onnxruntime-gpu": release})) == wrong

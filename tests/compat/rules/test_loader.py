"""Rules on what the loader finds."""

from __future__ import annotations

import pytest
from judging import say, the


@pytest.mark.parametrize("kind", ["nccl", "cudnn", "nvshmem"])
def test_library_wheels_of_two_cuda_majors_overwrite_each_other(kind: str) -> None:
    finding = the("SP304", {}, {f"nvidia-{kind}-cu11": "*", f"nvidia-{kind}-cu12": "*"})
    assert (finding.severity, finding.undetermined) == ("warning", True)
    assert finding.components == (f"nvidia-{kind}-cu11", f"nvidia-{kind}-cu12")


def test_wheels_of_different_libraries_do_not() -> None:
    assert not say(
        "SP304", {}, {"nvidia-nccl-cu11": "2.14.3", "nvidia-cudnn-cu12": "9.1.0.70", "nvidia-nccl-cu": "1.0"}
    )


def test_two_packages_with_the_same_module_overwrite_each_other() -> None:
    assert the("SP304", {}, {"onnxruntime": "1.20.1", "onnxruntime-gpu": "1.20.1"}).severity == "warning"
    assert not say("SP304", {}, {"onnxruntime-gpu": "1.20.1"})


def test_conda_s_libraries_of_another_cuda_come_first() -> None:
    env = {"LD_LIBRARY_PATH": "/opt/conda/lib:/usr/lib"}
    finding = the("SP305", {"cuda": "12.1"}, {"torch": "2.4.0+cu124"}, env_vars=env)
    assert (finding.severity, finding.components) == ("error", ("LD_LIBRARY_PATH", "torch", "cuda"))
    assert finding.fix == ("take the directory off LD_LIBRARY_PATH",)


def test_without_the_release_there_the_question_is_open() -> None:
    env = {"LD_LIBRARY_PATH": "/opt/conda/lib"}
    finding = the("SP305", {}, {"torch": "2.4.0+cu124"}, env_vars=env)
    assert (finding.severity, finding.undetermined) == ("warning", True)


def test_an_older_toolkit_of_the_major_on_the_path_is_a_warning() -> None:
    env = {"LD_LIBRARY_PATH": "/usr/local/cuda-12.1/lib64"}
    assert the("SP305", {}, {"torch": "2.5.1+cu124"}, env_vars=env).severity == "warning"


@pytest.mark.parametrize(
    "path",
    ["", "/usr/local/nvidia/lib:/usr/local/nvidia/lib64", "/usr/local/cuda-12.6/lib64", "/usr/local/cuda-11.8/lib64"],
)
def test_other_directories_do_no_harm(path: str) -> None:
    assert not say("SP305", {}, {"torch": "2.5.1+cu124"}, env_vars={"LD_LIBRARY_PATH": path})

"""Rules on GPU architectures; the lists are those of the published builds."""

from __future__ import annotations

import pytest
from judging import missing_fixes, say, the, verdict

from stackproof.compat.gpu_code import covers


@pytest.mark.parametrize(
    ("archs", "ptx", "capability", "expected"),
    [
        (("sm_80", "sm_86"), (), (8, 9), "compiled"),
        (("sm_80",), (), (8, 6), "compiled"),
        (("sm_86",), (), (8, 0), "none"),
        (("sm_80", "sm_90"), (), (10, 0), "none"),
        (("sm_120",), (), (12, 1), "compiled"),
        (("sm_90a",), (), (9, 0), "compiled"),
        (("sm_100a",), (), (10, 3), "none"),
        (("sm_100f",), (), (10, 3), "compiled"),
        (("sm_80",), (), (8, 7), "none"),
        (("sm_87",), (), (8, 9), "none"),
        (("sm_70",), ("compute_70",), (12, 0), "ptx"),
        (("sm_52", "compute_90"), (), (9, 0), "ptx"),
        (("sm_52",), ("compute_90",), (8, 9), "none"),
        (("sm_52",), ("compute_90a",), (12, 0), "none"),
    ],
)
def test_code_serves_its_major_from_its_minor_on(
    archs: tuple[str, ...], ptx: tuple[str, ...], capability: tuple[int, int], expected: str
) -> None:
    assert covers(archs, ptx, capability) == expected


@pytest.mark.parametrize(
    ("gpu", "torch"),
    [
        ("V100", "2.11.0+cu128"),
        ("Tesla P100-PCIE-16GB", "2.8.0"),
        ("NVIDIA GeForce RTX 5090", "2.6.0"),
        ("NVIDIA GeForce RTX 3090", "1.7.1+cu101"),
        ("NVIDIA H100 80GB HBM3", "1.13.1+cu117"),
        ("Tesla K40c", "1.3.1"),
        ("Tesla P100-PCIE-16GB", "*+cu128"),
    ],
)
def test_a_build_without_code_for_the_gpu_is_an_error(gpu: str, torch: str) -> None:
    finding = the("SP201", {"gpu": gpu}, {"torch": torch})
    assert (finding.severity, finding.components) == ("error", ("torch", "gpu"))
    assert finding.fix
    assert missing_fixes(finding) == []


@pytest.mark.parametrize(
    ("gpu", "torch"),
    [
        ("V100", "2.10.0+cu128"),
        ("V100", "2.11.0+cu126"),
        ("NVIDIA GeForce RTX 5090", "2.7.0+cu128"),
        ("NVIDIA GeForce RTX 4090", "1.13.1+cu117"),
        ("NVIDIA GeForce RTX 3090", "1.7.1+cu110"),
        ("NVIDIA GB10", "2.9.0+cu130"),
        ("NVIDIA H100 80GB HBM3", "2.0.1+cu118"),
    ],
)
def test_a_build_with_code_for_the_gpu_is_fine(gpu: str, torch: str) -> None:
    assert verdict({"gpu": gpu}, {"torch": torch}) == "compatible"


def test_another_build_of_the_same_release_is_offered_first() -> None:
    fixes = the("SP201", {"gpu": "V100"}, {"torch": "2.11.0+cu128"}).fix
    assert fixes[0] == "torch==2.11.0+cu126"


def test_every_gpu_of_a_host_has_to_be_covered() -> None:
    assert the("SP201", {}, {"torch": "2.5.1"}, gpus=("NVIDIA A100-SXM4-40GB", "Tesla K80")).severity == "error"


def test_where_the_build_is_open_the_question_is_too() -> None:
    finding = the("SP201", {"gpu": "Tesla K80"}, {"torch": "2.4.0"}, origins=frozenset({"conda"}))
    assert (finding.severity, finding.undetermined) == ("warning", True)


def test_what_the_framework_lists_itself_counts() -> None:
    listed = ("sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
    assert the("SP201", {"gpu": "RTX 5090"}, {"torch": "2.0.1"}, arch_list=listed).severity == "error"
    assert not say("SP201", {"gpu": "RTX 4090"}, {"torch": "2.0.1"}, arch_list=listed)


def test_nothing_is_said_of_code_that_is_not_known() -> None:
    assert not say("SP201", {"gpu": "RTX 5090"}, {"torch": "2.4.0a0+07cecf4168.nv24.05"})
    assert not say("SP201", {"gpu": "RTX 5090"}, {"torch": "2.5.1+cpu"})


def test_ptx_alone_works_and_starts_slowly() -> None:
    """TensorFlow 2.4 has PTX of 8.0 and no code for Ampere."""
    finding = the("SP202", {"gpu": "NVIDIA A100-SXM4-40GB", "driver": "470.82.01"}, {"tensorflow": "2.4.0"})
    assert (finding.severity, finding.components) == ("warning", ("tensorflow", "gpu"))


def test_ptx_is_refused_by_an_older_driver() -> None:
    finding = the("SP202", {"gpu": "NVIDIA A100-SXM4-40GB", "driver": "450.80.02"}, {"tensorflow": "2.5.0"})
    assert (finding.severity, finding.components) == ("error", ("tensorflow", "gpu", "driver"))


def test_with_compiled_code_ptx_does_not_matter() -> None:
    assert not say("SP202", {"gpu": "Tesla T4", "driver": "450.80.02"}, {"tensorflow": "2.5.0"})


def test_a_gpu_above_the_listed_range_of_its_major_is_a_note() -> None:
    finding = the("SP203", {"gpu": "NVIDIA GB10"}, {"torch": "*"}, arch_range=("8.0", "12.0"))
    assert finding.severity == "note"


@pytest.mark.parametrize("listed", [("8.0", "12.1"), ("5.0", "9.0")])
def test_within_the_range_or_of_another_major_it_has_no_say(listed: tuple[str, str]) -> None:
    assert not say("SP203", {"gpu": "NVIDIA GB10"}, {"torch": "*"}, arch_range=listed)


@pytest.mark.parametrize(
    ("gpu", "packages"),
    [
        ("RTX 4060 Ti", {"torch": "1.11.0+cu113"}),
        ("RTX 3090", {"torch": "1.7.0+cu110"}),
        ("RTX 30 series", {"jaxlib": "0.1.64+cuda110"}),
    ],
)
def test_a_run_time_compiler_that_does_not_know_the_gpu_is_an_error(gpu: str, packages: dict[str, str]) -> None:
    finding = the("SP204", {"gpu": gpu}, packages)
    assert (finding.severity, finding.components) == ("error", (*packages, "gpu", "cuda"))


@pytest.mark.parametrize(
    ("gpu", "packages"),
    [
        ("RTX 4090", {"torch": "1.13.0+cu116"}),
        ("RTX 4090", {"torch": "2.0.1"}),
        ("RTX 3090", {"torch": "1.7.1+cu110"}),
        ("RTX 3090", {"torch": "1.11.0+cu113"}),
        ("RTX 30 series", {"jaxlib": "0.1.65+cuda111"}),
        ("T4", {"torch": "1.1.0"}),
    ],
)
def test_a_compiler_that_knows_it_or_is_asked_for_less_is_fine(gpu: str, packages: dict[str, str]) -> None:
    assert not say("SP204", {"gpu": gpu}, packages)


@pytest.mark.parametrize(
    ("gpu", "driver", "bound"),
    [("Tesla K80", "525.60.13", "470"), ("GeForce GTX 1080 Ti", "590.10", "580"), ("RTX 5090", "550.54.15", "570")],
)
def test_a_driver_knows_the_gpus_of_its_time(gpu: str, driver: str, bound: str) -> None:
    finding = the("SP105", {"gpu": gpu, "driver": driver})
    assert finding.components == ("driver", "gpu")
    assert bound in finding.fix[0]


@pytest.mark.parametrize(
    ("gpu", "driver"), [("Tesla K80", "470.82.01"), ("GeForce GTX 1080 Ti", "580.82.07"), ("RTX 5090", "570.86.10")]
)
def test_the_last_and_the_first_driver_know_it(gpu: str, driver: str) -> None:
    assert not say("SP105", {"gpu": gpu, "driver": driver})


def test_a_cudnn_wheel_without_code_for_the_gpu_is_an_error() -> None:
    finding = the("SP205", {"gpu": "Tesla V100-SXM2-16GB"}, {"nvidia-cudnn-cu12": "9.13.0.50"})
    assert (finding.severity, "nvidia-cudnn-cu12" in finding.components) == ("error", True)
    assert missing_fixes(finding) == []


@pytest.mark.parametrize(
    ("gpu", "cudnn"), [("Tesla V100-SXM2-16GB", "9.10.2.21"), ("NVIDIA L4", "9.13.0.50"), ("RTX 5090", "9.10.2.21")]
)
def test_a_cudnn_wheel_with_code_for_it_is_fine(gpu: str, cudnn: str) -> None:
    assert not say("SP205", {"gpu": gpu}, {"nvidia-cudnn-cu12": cudnn})

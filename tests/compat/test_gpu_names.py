"""GPU names as nvidia-smi, virtual machines and people write them; capabilities from NVIDIA's list of CUDA GPUs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackproof.compat.gpu_names import capability_of, find_gpu, near_names


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("NVIDIA A100-SXM4-80GB", "8.0"),
        ("NVIDIA A100 80GB PCIe", "8.0"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "8.0"),
        ("NVIDIA A100-SXM-64GB", "8.0"),
        ("NVIDIA A30", "8.0"),
        ("NVIDIA A10G", "8.6"),
        ("NVIDIA H100 80GB HBM3", "9.0"),
        ("NVIDIA H100 NVL", "9.0"),
        ("8x H100 80GB HBM3", "9.0"),
        ("NVIDIA GH200 480GB", "9.0"),
        ("NVIDIA H20", "9.0"),
        ("NVIDIA L4", "8.9"),
        ("NVIDIA L40S", "8.9"),
        ("2x RTX 5880 Ada", "8.9"),
        ("NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("Quadro RTX 6000", "7.5"),
        ("NVIDIA B200", "10.0"),
        ("NVIDIA B300 SXM6 AC", "10.3"),
        ("NVIDIA GB300", "10.3"),
        ("NVIDIA GB10", "12.1"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "8.9"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "8.9"),
        ("RTX 4060 Ti", "8.9"),
        ("RTX4060Ti", "8.9"),
        ("RTX3090", "8.6"),
        ("GeForce RTX 3060 12GB", "8.6"),
        ("NVIDIA A6000", "8.6"),
        ("NVIDIA RTX A6000", "8.6"),
        ("NVIDIA GeForce RTX 2070 with Max-Q Design", "7.5"),
        ("GeForce GTX 1650 SUPER", "7.5"),
        ("Tesla T4", "7.5"),
        ("GRID T4-16Q", "7.5"),
        ("Tesla V100-SXM2-32GB", "7.0"),
        ("Tesla V100S-PCIE-32GB", "7.0"),
        ("NVIDIA TITAN V", "7.0"),
        ("Tesla P100-PCIE-16GB", "6.0"),
        ("Tesla P40", "6.1"),
        ("NVIDIA GeForce GTX 1080 Ti", "6.1"),
        ("Tesla M60", "5.2"),
        ("GeForce GTX 750 Ti", "5.0"),
        ("Tesla K80", "3.7"),
        ("Tesla K40m", "3.5"),
        ("Jetson AGX Orin", "8.7"),
        ("Orin (nvgpu)", "8.7"),
        ("Xavier", "7.2"),
        ("NVIDIA Thor", "11.0"),
        ("RTX 30 series", "8.6"),
        ("GeForce GTX 10 series", "6.1"),
    ],
)
def test_a_name_in_any_dress_has_its_compute_capability(name: str, capability: str) -> None:
    assert capability_of(name) == capability


@pytest.mark.parametrize(
    "name", ["", "GPU", "AMD Radeon RX 7900 XTX", "Intel Arc A770", "NVIDIA Graphics Device", "RTX 9999", "A1000000"]
)
def test_what_is_no_known_gpu_is_not_guessed(name: str) -> None:
    assert capability_of(name) is None


def test_the_nearest_name_is_offered() -> None:
    assert "RTX 4090" in near_names("GeForce RTX 4O90")


@pytest.mark.parametrize(
    ("name", "kind"), [("NVIDIA A100-SXM4-80GB", "datacenter"), ("RTX 4090", "geforce"), ("RTX A6000", "workstation")]
)
def test_what_kind_of_gpu_it_is_is_known(name: str, kind: str) -> None:
    row = find_gpu(name)
    assert row is not None
    assert row["kind"] == kind


@given(st.text(max_size=250))
def test_any_name_is_looked_up(name: str) -> None:
    assert capability_of(name) is None or "." in str(capability_of(name))


@pytest.mark.parametrize(
    ("name", "capability"),
    [("GTX 960M", "5.0"), ("NVIDIA GeForce GTX 970M", "5.2"), ("GeForce 940M 2GB", "5.0"), ("GeForce 820M", "2.1")],
)
def test_the_m_of_a_mobile_gpu_is_no_unit(name: str, capability: str) -> None:
    assert capability_of(name) == capability


def test_a_name_that_was_cut_off_is_told_where_all_that_it_may_be_are_alike() -> None:
    assert capability_of("NVIDIA RTX PRO 6000 Blac...") == "12.0"
    assert capability_of("GeForce GTX 108...") == "6.1"
    assert capability_of("NVIDIA GeForce ...") is None
    assert "nvidia-smi -L" in near_names("NVIDIA GeForce ...")


def test_names_with_their_memory_or_without_their_line_are_known() -> None:
    assert capability_of("GeForce 940MX 982MiB") == capability_of("GeForce 940MX")
    assert capability_of("GeForce 1080 Ti 11Gb") == "6.1"

"""Rules between frameworks."""

from __future__ import annotations

import pytest
from judging import missing_fixes, say, the, verdict

A100 = {"gpu": "NVIDIA A100-SXM4-40GB", "driver": "580.82.07", "driver_cuda": "13.0"}


def test_jaxlib_is_never_newer_than_jax() -> None:
    finding = the("SP401", {}, {"jax": "0.4.20", "jaxlib": "0.4.31"})
    assert (finding.severity, finding.components) == ("error", ("jax", "jaxlib"))
    assert "jaxlib==0.4.20" in finding.fix
    assert missing_fixes(finding) == []


@pytest.mark.parametrize("jaxlib", ["0.4.10", "0.4.13"])
def test_jaxlib_is_not_older_than_jax_allows(jaxlib: str) -> None:
    assert the("SP401", {}, {"jax": "0.4.20", "jaxlib": jaxlib}).severity == "error"


@pytest.mark.parametrize(
    ("jax", "jaxlib"),
    [
        ("0.4.20", "0.4.20"),
        ("0.4.20", "0.4.14"),
        ("0.4.35", "0.4.34"),
        ("0.4.30", "0.4.30+cuda12.cudnn91"),
        ("0.4.20", "*"),
    ],
)
def test_jaxlib_within_the_window_is_fine(jax: str, jaxlib: str) -> None:
    assert not say("SP401", {}, {"jax": jax, "jaxlib": jaxlib})


def test_plugin_and_jaxlib_are_of_one_release() -> None:
    packages = {"jax": "0.9.0.1", "jaxlib": "0.9.0.1", "jax-cuda12-plugin": "0.9.2", "jax-cuda12-pjrt": "0.9.2"}
    finding = say("SP402", {}, packages)[-1]
    assert finding.severity == "error"
    assert set(finding.components) == {"jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt"}
    assert finding.fix == ("jax-cuda12-plugin==0.9.0.1", "jax-cuda12-pjrt==0.9.0.1")


def test_plugin_and_pjrt_of_jaxlib_s_release_are_fine() -> None:
    packages = {"jax": "0.9.0.1", "jaxlib": "0.9.0.1", "jax-cuda12-plugin": "0.9.0.1", "jax-cuda12-pjrt": "0.9.0.1"}
    assert verdict({}, packages) == "compatible"


def test_two_exact_pins_of_one_nvidia_wheel_exclude_each_other() -> None:
    packages = {"tensorflow": "2.15.1", "torch": "2.4.1"}
    found = say("SP403", {}, packages, extras={"tensorflow": frozenset({"and-cuda"})})
    assert found
    assert {finding.severity for finding in found} == {"error"}
    assert all({"tensorflow", "torch"} < set(finding.components) for finding in found)


@pytest.mark.parametrize(
    "packages",
    [
        {"tensorflow": "2.15.1", "torch": "2.4.1"},
        {"tensorflow": "2.15.1", "torch": "2.4.1+cpu"},
        {"tensorflow": "2.20.0", "torch": "2.8.0"},
    ],
)
def test_without_the_extra_with_a_cpu_build_or_with_ranges_they_do_not(packages: dict[str, str]) -> None:
    asked = {} if packages["torch"] == "2.4.1" else {"tensorflow": frozenset({"and-cuda"})}
    assert not say("SP403", {}, packages, extras=asked)


def test_an_nvidia_wheel_off_the_pin_is_a_warning() -> None:
    finding = the("SP403", {}, {"torch": "2.5.1", "nvidia-nccl-cu12": "2.23.4"})
    assert (finding.severity, finding.components) == ("warning", ("torch", "nvidia-nccl-cu12"))


def test_a_build_for_another_cuda_has_pins_of_its_own() -> None:
    assert not say("SP403", {}, {"torch": "2.6.0+cu126", "nvidia-cudnn-cu12": "9.5.1.17"})


def test_torch_and_the_cuda_extra_of_jax_may_exclude_each_other() -> None:
    finding = the("SP403", A100, {"jax": "0.4.23", "torch": "2.1.2"})
    assert finding.severity == "error"
    assert {"torch", "jax"} < set(finding.components)


def test_with_jaxlib_alone_jax_runs_on_the_cpu() -> None:
    assert not say("SP403", A100, {"jax": "0.4.23", "jaxlib": "0.4.23", "torch": "2.1.2"})


def test_two_frameworks_share_one_cudnn() -> None:
    finding = the("SP404", A100, {"torch": "2.5.1", "tensorflow": "2.18.0"})
    assert (finding.severity, finding.components) == ("error", ("torch", "tensorflow", "cudnn"))


@pytest.mark.parametrize(
    ("around", "packages"),
    [
        (A100, {"torch": "2.8.0", "tensorflow": "2.18.0"}),
        ({}, {"torch": "2.5.1", "tensorflow": "2.18.0"}),
        (A100, {"torch": "2.5.1", "tensorflow": "2.17.1"}),
        (A100, {"torch": "2.5.1+cpu", "tensorflow": "2.18.0"}),
    ],
)
def test_a_new_enough_cudnn_no_gpu_or_no_cudnn_is_fine(around: dict[str, str], packages: dict[str, str]) -> None:
    assert not say("SP404", around, packages)


def test_an_extra_counts_however_it_is_spelt() -> None:
    # jax 0.4.13's cuda11_pip extra asks for cuBLAS 11.11 and newer, torch 2.0.0 pins 11.10.3.66.
    for extra in ("cuda11_pip", "cuda11-pip"):
        found = say("SP403", {}, {"torch": "2.0.0", "jax": "0.4.13"}, extras={"jax": frozenset({extra})})
        assert found
        assert {"torch", "jax"} <= set(found[0].components)
    assert not say("SP403", {}, {"torch": "2.0.0", "jax": "0.4.13"})

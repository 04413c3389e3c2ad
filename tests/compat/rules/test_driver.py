"""Rules on the driver; the floors are those of NVIDIA's tables."""

from __future__ import annotations

import pytest
from judging import missing_fixes, say, the, verdict


@pytest.mark.parametrize(
    ("driver", "torch"),
    [
        ("515.65.01", "2.1.0+cu121"),
        ("470.182.03", "2.1.0+cu121"),
        ("440.33.01", "1.13.1+cu117"),
        ("575.57.08", "2.9.0+cu130"),
        ("418.87", "1.7.1"),
        ("390.157", "1.13.1"),
    ],
)
def test_a_driver_below_the_floor_of_the_cuda_major_refuses_the_build(driver: str, torch: str) -> None:
    finding = the("SP101", {"driver": driver}, {"torch": torch})
    assert finding.severity == "error"
    assert finding.components == ("driver", "torch")
    assert missing_fixes(finding) == []


@pytest.mark.parametrize(
    ("driver", "torch"),
    [
        ("525.60.13", "2.9.0+cu129"),
        ("450.80.02", "2.5.1+cu118"),
        ("580.65.06", "2.12.0+cu132"),
        ("440.33.01", "1.7.1"),
        ("580.82.07", "1.13.1+cu117"),
    ],
)
def test_any_driver_of_the_major_starts_any_minor(driver: str, torch: str) -> None:
    assert not say("SP101", {"driver": driver}, {"torch": torch})


def test_the_fixes_are_the_floor_and_a_build_that_the_driver_starts() -> None:
    finding = the("SP101", {"driver": "470.182.03"}, {"torch": "2.1.0+cu121"})
    assert finding.fix[0] == "driver 525.60.13 or newer"
    assert "torch==2.1.0+cu118" in finding.fix


def test_an_untagged_wheel_has_the_default_cuda_of_its_release() -> None:
    """torch 1.7.1 is built for CUDA 10.2, which a 10.1 driver does not start; torch 1.4.0 for 10.1."""
    assert "CUDA 10.2" in the("SP101", {"driver_cuda": "10.1"}, {"torch": "1.7.1"}).message
    assert not say("SP101", {"driver_cuda": "10.1"}, {"torch": "1.4.0"})


@pytest.mark.parametrize(("level", "refused"), [("12080", True), ("13000", False), ("12.9", True), ("13.0", False)])
def test_a_level_may_be_the_integer_of_the_driver_s_interface(level: str, refused: bool) -> None:  # noqa: FBT001 - a parameter
    assert bool(say("SP101", {"driver_cuda": level}, {"torch": "*+cu130"})) is refused


def test_before_cuda_11_each_minor_needs_its_own_driver() -> None:
    assert the("SP101", {"driver_cuda": "10.0"}, {"torch": "1.4.0"}).severity == "error"


def test_the_installed_toolkit_does_not_raise_the_driver_s_level() -> None:
    assert say("SP101", {"driver_cuda": "9.1", "cuda": "10.1"}, {"torch": "1.0.1.post2+cu100"})


def test_where_the_build_is_open_the_question_is_too() -> None:
    finding = the("SP101", {"driver": "470.182.03", "cuda": "11.8"}, {"torch": "2.4.0"})
    assert (finding.severity, finding.undetermined) == ("warning", True)


def test_a_nightly_is_judged_by_its_tag_and_a_vendor_build_not_at_all() -> None:
    assert say("SP101", {"driver": "470.82.01"}, {"torch": "2.6.0.dev20241112+cu124"})
    assert not say("SP101", {"driver": "470.82.01"}, {"torch": "2.4.0a0+07cecf4168.nv24.05"})


@pytest.mark.parametrize("driver", [">=470", "<535", "!=535"])
def test_a_bound_on_the_driver_is_no_driver(driver: str) -> None:
    assert not say("SP101", {"driver": driver}, {"torch": "2.9.0+cu130"})


@pytest.mark.parametrize("packages", [{"jaxlib": "0.4.30", "jax-cuda12-plugin": "0.4.30"}, {"tensorflow": "2.15.0"}])
def test_other_frameworks_have_floors_too(packages: dict[str, str]) -> None:
    assert the("SP101", {"driver": "470.82.01"}, packages).severity == "error"


def test_a_forward_compatibility_package_is_offered_where_it_applies() -> None:
    old = {"driver": "535.104.05", "gpu": "NVIDIA A100-SXM4-40GB"}
    assert any("cuda-compat-13-0" in fix for fix in the("SP101", old, {"torch": "2.9.0+cu130"}).fix)


@pytest.mark.parametrize(
    "around",
    [
        {"driver": "535.104.05", "gpu": "NVIDIA GeForce RTX 4090"},
        {"driver": "550.54.15", "gpu": "NVIDIA A100-SXM4-40GB"},
        {"driver": "535.104.05"},
    ],
)
def test_it_is_not_offered_on_other_gpus_or_branches(around: dict[str, str]) -> None:
    assert not any("cuda-compat" in fix for fix in the("SP101", around, {"torch": "2.9.0+cu130"}).fix)


def test_a_forward_compatibility_package_in_use_lifts_the_level() -> None:
    old = {"driver": "535.104.05", "gpu": "NVIDIA A100-SXM4-40GB"}
    env = {"LD_LIBRARY_PATH": "/usr/local/cuda-13.0/compat:/usr/local/cuda-13.0/lib64"}
    assert not say("SP101", old, {"torch": "2.9.0+cu130"}, env_vars=env)


def test_within_the_major_an_older_minor_is_a_note() -> None:
    finding = the("SP102", {"driver": "535.104.05"}, {"torch": "2.8.0+cu128"})
    assert finding.severity == "note"
    assert verdict({"driver": "535.104.05"}, {"torch": "2.8.0+cu128"}) == "compatible"


def test_with_xla_it_is_a_warning() -> None:
    assert the("SP102", {"driver": "525.60.13"}, {"tensorflow": "2.15.0"}).severity == "warning"


def test_a_driver_as_new_as_the_build_has_no_limit() -> None:
    assert not say("SP102", {"driver": "570.86.10"}, {"torch": "2.8.0+cu128"})


def test_ptx_of_a_newer_toolkit_is_refused() -> None:
    finding = the("SP103", {"driver": "550.54.15", "driver_cuda": "12.4", "cuda": "12.5"})
    assert (finding.severity, finding.components) == ("error", ("driver", "cuda"))
    assert finding.fix[0].startswith("driver 555.")


@pytest.mark.parametrize("torch", ["2.8.0+cu128", "*"])
def test_beside_a_wheel_the_toolkit_is_a_warning(torch: str) -> None:
    around = {"driver": "535.104.05", "cuda": "12.4"}
    assert the("SP103", around, {"torch": torch}).severity == "warning"


def test_for_what_is_built_from_source_the_toolkit_counts() -> None:
    around = {"driver_cuda": "11.0", "cuda": "12.1"}
    assert the("SP103", around, {"torch": "*"}, origins=frozenset({"source"})).severity == "error"


@pytest.mark.parametrize("cuda", ["12.4", "12.4.1", "11.8", "12"])
def test_a_toolkit_no_newer_than_the_driver_is_fine(cuda: str) -> None:
    assert not say("SP103", {"driver": "550.54.15", "cuda": cuda})


def test_forward_compatibility_does_not_work_on_geforce() -> None:
    finding = the(
        "SP104",
        {"driver": "535.104.05", "gpu": "NVIDIA GeForce RTX 3090"},
        env_vars={"LD_LIBRARY_PATH": "/usr/local/cuda/compat"},
    )
    assert (finding.severity, "LD_LIBRARY_PATH" in finding.components) == ("error", True)


def test_forward_compatibility_is_rejected_by_newer_drivers() -> None:
    env = {"LD_LIBRARY_PATH": "/usr/local/cuda-12.6/compat"}
    assert the("SP104", {"driver": "580.65.06"}, env_vars=env).severity == "error"


@pytest.mark.parametrize("path", ["/usr/local/cuda-12.6/compat", "/usr/local/cuda/lib64", ""])
def test_where_it_applies_nothing_is_said(path: str) -> None:
    around = {"driver": "535.104.05", "gpu": "NVIDIA A100-SXM4-40GB"}
    assert not say("SP104", around, env_vars={"LD_LIBRARY_PATH": path})


def test_a_level_that_is_not_the_branch_s_is_noted() -> None:
    finding = the("SP106", {"driver": "535.104.05", "driver_cuda": "12.4"})
    assert (finding.severity, finding.components) == ("note", ("driver", "driver_cuda"))


@pytest.mark.parametrize(("driver", "level"), [("535.104.05", "12.2"), ("580.82.07", "13000"), ("555.99", "12.5")])
def test_a_level_of_the_branch_is_fine(driver: str, level: str) -> None:
    assert not say("SP106", {"driver": driver, "driver_cuda": level})


def test_fabric_manager_has_to_be_of_the_driver_s_version() -> None:
    finding = the("SP107", {"driver": "550.54.15", "nvidia-fabricmanager": "550.90.07"})
    assert finding.severity == "error"
    assert finding.fix == ("nvidia-fabricmanager 550.54.15", "driver 550.90.07")
    assert not say("SP107", {"driver": "550.54.15", "nvidia-fabricmanager": "550.54.15"})


def test_a_package_that_names_its_cuda_major_needs_a_driver_of_it() -> None:
    # onnxruntime.ai, CUDA execution provider: the package index's builds are for CUDA 12 from 1.19 on, before for 11.
    (finding,) = say("SP101", {"driver": "470.182.03"}, {"onnxruntime-gpu": "1.19.2"})
    assert (finding.severity, finding.components) == ("error", ("driver", "onnxruntime-gpu"))
    assert not say("SP101", {"driver": "470.182.03"}, {"onnxruntime-gpu": "1.18.1"})
    (finding,) = say("SP101", {"driver": "470.182.03"}, {"cupy-cuda12x": "13.3.0"})
    assert finding.severity == "error"
    assert not say("SP101", {"driver": "470.182.03"}, {"cupy-cuda11x": "13.3.0"})


def test_on_windows_an_untagged_torch_may_be_any_build() -> None:
    # The package index's wheels for Windows have no GPU code: who uses a GPU there has another build.
    (finding,) = say("SP101", {"driver": "472.12", "os": "Windows 11"}, {"torch": "2.1.0"})
    assert (finding.severity, finding.undetermined) == ("warning", True)
    (finding,) = say("SP101", {"driver": "472.12", "os": "Ubuntu 22.04"}, {"torch": "2.1.0"})
    assert finding.severity == "error"


def test_a_toolkit_from_conda_is_the_one_that_its_frameworks_load() -> None:
    around = {"os": "Windows 10", "driver": "388.73", "cuda": "10.0.130"}
    assert the("SP103", around, {"tensorflow-gpu": "*"}, origins=frozenset({"conda"})).severity == "error"
    assert the("SP103", around, {"tensorflow-gpu": "*"}).severity == "warning"

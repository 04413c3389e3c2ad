"""Rules on Python, the C library, the system and the machine; values from the published wheels."""

from __future__ import annotations

import pytest
from judging import missing_fixes, say, the


@pytest.mark.parametrize(
    ("python", "packages"),
    [
        ("3.9", {"tensorflow": "2.3.0"}),
        ("3.13.0", {"tensorflow": "2.18"}),
        ("3.12", {"torch": "2.1.2"}),
        ("3.8", {"torch": "2.5.0"}),
        ("3.11", {"jaxlib": "0.3.25"}),
        ("3.12", {"numpy": "1.16.0", "torch": "2.1.0"}),
    ],
)
def test_a_release_without_a_wheel_for_the_python_is_an_error(python: str, packages: dict[str, str]) -> None:
    found = say("SP601", {"python": python}, packages)
    for finding in found:
        assert (finding.severity, finding.components[0]) == ("error", "python")
        assert finding.fix
        assert missing_fixes(finding) == []
    assert found or "jaxlib" in packages


@pytest.mark.parametrize(
    ("python", "packages"),
    [
        ("3.8", {"tensorflow": "2.3.0"}),
        ("3.12.8", {"tensorflow": "2.18.0"}),
        ("3.11.6", {"torch": "2.1.0+cu121"}),
        ("3.13", {"onnx": "1.22.0"}),
        ("3.14", {"torchvision": "0.26.0"}),
        ("3.10", {"torch": ">=2.1"}),
        ("3.13", {"torch": "*"}),
        ("3.11", {"flax": "0.8.5"}),
    ],
)
def test_a_wheel_for_the_python_is_fine(python: str, packages: dict[str, str]) -> None:
    assert not say("SP601", {"python": python}, packages)


@pytest.mark.parametrize(
    ("around", "torch"),
    [({"glibc": "2.17"}, "2.7.0"), ({"os": "CentOS Linux 7.9"}, "2.8.0"), ({"os": "Ubuntu 18.04"}, "2.7.1")],
)
def test_a_c_library_older_than_the_wheel_s_tag_is_an_error(around: dict[str, str], torch: str) -> None:
    finding = the("SP602", around, {"torch": torch})
    assert (finding.severity, finding.components) == ("error", ("glibc", "torch"))
    assert missing_fixes(finding) == []


@pytest.mark.parametrize(
    ("around", "torch"),
    [
        ({"glibc": "2.28"}, "2.7.0"),
        ({"glibc": "2.17"}, "2.5.1"),
        ({"os": "Ubuntu 20.04.6 LTS"}, "2.8.0"),
        ({"os": "Rocky Linux 8.10"}, "2.8.0"),
        ({"os": "Plan 9"}, "2.8.0"),
        ({"os": "CentOS 7.9", "glibc": "2.28"}, "2.8.0"),
    ],
)
def test_a_c_library_as_new_as_the_tag_is_fine(around: dict[str, str], torch: str) -> None:
    assert not say("SP602", around, {"torch": torch})


@pytest.mark.parametrize(
    ("system", "packages"),
    [
        ("Windows 11", {"tensorflow": "2.17.0"}),
        ("Windows 10", {"jaxlib": "0.4.30"}),
        ("macOS 15.6.1", {"tensorflow": "2.17.0"}),
    ],
)
def test_a_system_without_a_gpu_build_is_an_error(system: str, packages: dict[str, str]) -> None:
    finding = the("SP603", {"os": system, "gpu": "RTX 4050"}, packages)
    assert (finding.severity, finding.components) == ("error", (*packages, "os"))


@pytest.mark.parametrize(
    ("around", "packages"),
    [
        ({"os": "Windows 11", "gpu": "RTX 4050"}, {"tensorflow": "2.10.1"}),
        ({"os": "Windows 11"}, {"tensorflow": "2.17.0"}),
        ({"os": "Windows 11 WSL2", "gpu": "RTX 4050"}, {"tensorflow": "2.17.0"}),
        ({"os": "Ubuntu 22.04", "gpu": "RTX 4050"}, {"tensorflow": "2.17.0"}),
        ({"os": "Windows 11", "gpu": "RTX 4050"}, {"torch": "2.4.0+cu121"}),
    ],
)
def test_a_system_with_a_gpu_build_or_no_gpu_is_fine(around: dict[str, str], packages: dict[str, str]) -> None:
    assert not say("SP603", around, packages)


def test_the_package_index_s_torch_for_arm_has_no_gpu_code_before_2_11() -> None:
    arm = {"machine": "aarch64", "gpu": "NVIDIA GH200 480GB"}
    finding = the("SP605", arm, {"torch": "2.6.0"})
    assert (finding.severity, finding.components) == ("warning", ("torch", "machine"))
    assert missing_fixes(finding) == []
    assert not say("SP605", arm, {"torch": "2.11.0"})
    assert not say("SP605", arm, {"torch": "2.6.0+cu126"})
    assert not say("SP605", {"machine": "aarch64"}, {"torch": "2.6.0"})
    assert not say("SP605", {**arm, "machine": "x86_64"}, {"torch": "2.6.0"})


def test_frameworks_have_no_wheel_for_musl() -> None:
    finding = the("SP602", {"os": "Alpine Linux 3.21"}, {"tensorflow": "2.18.0", "requests": "2.32.0"})
    assert (finding.severity, finding.components) == ("error", ("tensorflow", "os", "glibc"))


@pytest.mark.parametrize("system", ["win10", "Win 11", "Windows 11 24H2"])
def test_windows_is_known_by_its_short_names(system: str) -> None:
    finding = the("SP603", {"os": system, "cuda": "12.3"}, {"tensorflow": "2.16.1"})
    assert finding.components == ("tensorflow", "os")


@pytest.mark.parametrize("system", ["Windows 11 WSL2 Ubuntu 22.04", "Darwin 23.1", "Ubuntu 22.04"])
def test_what_is_no_native_windows_is_not_taken_for_it(system: str) -> None:
    assert not [
        found
        for found in say("SP603", {"os": system, "cuda": "12.3"}, {"tensorflow": "2.16.1"})
        if "Windows" in found.message
    ]

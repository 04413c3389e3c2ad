"""What the loader would map against what packages claim."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stackproof.compat.check import check
from stackproof.compat.described import Library, describe

if TYPE_CHECKING:
    from stackproof.compat.finding import Finding

CUDNN = "/site/nvidia/cudnn/lib"
TORCH = describe({}, {"torch": "2.6.0", "nvidia-cudnn-cu12": "9.1.0.70", "nvidia-nccl-cu12": "2.21.5"})


def found(*libraries: Library, code: str, **components: str) -> list[Finding]:
    described = replace(TORCH, known={**TORCH.known, **describe(components).known}, libraries=libraries)
    return [finding for finding in check(described).findings if finding.code == code]


def brought(soname: str, version: str, owner: str) -> Library:
    return Library(soname, f"{CUDNN}/{soname}", version, owner)


def mapped(soname: str, version: str, path: str = "/usr/lib") -> Library:
    return Library(soname, f"{path}/{soname}", version, mapped_by="torch")


def test_the_same_version_from_elsewhere_is_no_difference() -> None:
    same = (brought("libcudnn.so.9", "9.1.0", "nvidia-cudnn-cu12"), mapped("libcudnn.so.9", "9.1.0"))
    assert found(*same, code="SP307") == []


def test_an_older_nccl_than_the_wheel_brings_is_an_error() -> None:
    older = (brought("libnccl.so.2", "2.21.5", "nvidia-nccl-cu12"), mapped("libnccl.so.2", "2.18.3"))
    (finding,) = found(*older, code="SP307")
    assert finding.severity == "error"
    assert {"nvidia-nccl-cu12", "torch", "LD_LIBRARY_PATH"} <= set(finding.components)
    assert "/usr/lib/libnccl.so.2" in finding.message


def test_a_newer_one_of_the_same_major_is_a_warning() -> None:
    newer = (brought("libnccl.so.2", "2.21.5", "nvidia-nccl-cu12"), mapped("libnccl.so.2", "2.27.3"))
    (finding,) = found(*newer, code="SP307")
    assert (finding.severity, finding.undetermined) == ("warning", False)


def test_sub_libraries_of_two_releases_are_an_error() -> None:
    mixed = (mapped("libcudnn.so.9", "9.1.0"), mapped("libcudnn_ops.so.9", "9.5.1", "/opt"))
    (finding,) = found(*mixed, code="SP306")
    assert finding.severity == "error"
    assert "cudnn" in finding.components


def test_sub_libraries_of_one_release_are_not() -> None:
    alike = (mapped("libcudnn.so.9", "9.1.0"), mapped("libcudnn_ops.so.9", "9.1.0"))
    assert found(*alike, code="SP306") == []


def test_a_file_of_two_packages_is_said_with_what_is_on_disk() -> None:
    shared = replace(brought("libnccl.so.2", "2.21.5", "nvidia-nccl-cu11"), also_owned_by=("nvidia-nccl-cu12",))
    (finding,) = found(shared, code="SP309")
    assert finding.severity == "warning"
    assert set(finding.components) == {"nvidia-nccl-cu11", "nvidia-nccl-cu12"}
    assert "2.21.5" in finding.message
    (gone,) = found(replace(shared, missing=True, version=None), code="SP309")
    assert gone.severity == "error"


def test_a_library_that_only_the_gpu_needs_matters_where_there_is_one() -> None:
    opened = Library("libcudnn.so.9", "", mapped_by="tensorflow", missing=True, optional=True)
    (without,) = found(opened, code="SP310")
    (with_gpu,) = found(opened, code="SP310", driver="550.54.15")
    assert (without.severity, with_gpu.severity) == ("note", "error")


def test_a_library_that_importing_needs_is_an_error_anywhere() -> None:
    (finding,) = found(Library("libcusparse.so.12", "", mapped_by="torch", missing=True), code="SP310")
    assert finding.severity == "error"


def test_what_the_binaries_need_of_the_system_is_compared_with_what_is_there() -> None:
    needing = Library("libtorch.so", "/site/torch/lib/libtorch.so", owner="torch", needs=(("glibc", "2.28"),))
    (finding,) = found(needing, code="SP606", glibc="2.27")
    assert finding.severity == "error"
    assert found(needing, code="SP606", glibc="2.28") == []

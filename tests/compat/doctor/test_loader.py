"""Comparisons are of described libraries alone: nothing here is on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackproof.compat.described import Library
from stackproof.compat.doctor.loader import (
    Absent,
    Mixed,
    Overwritten,
    Shadowed,
    absent_libraries,
    agree,
    mapped_and_claimed,
    mixed_sets,
    overwritten_files,
)
from stackproof.compat.gather import Gathered

if TYPE_CHECKING:
    from stackproof.compat.described import Description

OWN = "/env/nvidia/cudnn/lib/libcudnn.so.9"
SYSTEM = "/usr/lib/libcudnn.so.9"


def describe(*libraries: Library, **packages: str) -> Description:
    gathered = Gathered(libraries=list(libraries))
    for name, version in packages.items():
        gathered.add_package(name, version, "test")
    return gathered.describe()


def test_another_version_from_elsewhere_is_told() -> None:
    found = mapped_and_claimed(
        describe(
            Library("libcudnn.so.9", OWN, "9.1.0", "nvidia-cudnn-cu12"),
            Library("libcudnn.so.9", SYSTEM, "9.5.0", mapped_by="torch"),
            nvidia_cudnn_cu12="9.1.0.70",
        )
    )
    assert found == [Shadowed("libcudnn.so.9", "9.1.0.70", "nvidia-cudnn-cu12", SYSTEM, "9.5.0", "torch")]


def test_the_same_version_from_elsewhere_is_no_difference() -> None:
    own = Library("libcudnn.so.9", OWN, "9.1.0", "nvidia-cudnn-cu12")
    same = Library("libcudnn.so.9", SYSTEM, "9.1.0", mapped_by="torch")
    assert mapped_and_claimed(describe(own, same, nvidia_cudnn_cu12="9.1.0.70")) == []


def test_a_version_that_cannot_be_asked_is_told_only_from_elsewhere() -> None:
    own = Library("libcudnn_cnn.so.9", OWN, None, "nvidia-cudnn-cu12")
    here = Library("libcudnn_cnn.so.9", OWN, None, "nvidia-cudnn-cu12", mapped_by="torch")
    there = Library("libcudnn_cnn.so.9", SYSTEM, mapped_by="torch")
    assert mapped_and_claimed(describe(own, here, nvidia_cudnn_cu12="9.1.0.70")) == []
    assert [one.mapped_version for one in mapped_and_claimed(describe(own, there, nvidia_cudnn_cu12="9.1.0.70"))] == [
        None
    ]


def test_an_overwritten_file_is_another_version_than_its_package_says() -> None:
    own = Library("libnccl.so.2", "/env/libnccl.so.2", "2.20.5", "nvidia-nccl-cu12")
    mapped = Library("libnccl.so.2", "/env/libnccl.so.2", "2.20.5", "nvidia-nccl-cu12", mapped_by="torch")
    found = mapped_and_claimed(describe(own, mapped, nvidia_nccl_cu12="2.21.5"))
    assert [(one.claimed_version, one.mapped_version) for one in found] == [("2.21.5", "2.20.5")]


def test_without_a_package_nothing_is_claimed() -> None:
    assert mapped_and_claimed(describe(Library("libcudnn.so.9", SYSTEM, "9.5.0", mapped_by="torch"))) == []


def test_parts_of_two_versions_are_told_as_they_are_mapped() -> None:
    main = Library("libcudnn.so.9", OWN, "9.1.0", "nvidia-cudnn-cu12", mapped_by="torch")
    part = Library("libcudnn_ops.so.9", "/usr/lib/libcudnn_ops.so.9", "9.5.0", mapped_by="torch")
    versions = ((OWN, "9.1.0"), ("/usr/lib/libcudnn_ops.so.9", "9.5.0"))
    assert mixed_sets(describe(main, part)) == [Mixed("cuDNN", "torch", versions)]


def test_a_part_that_cannot_be_asked_counts_as_its_owner_s_version() -> None:
    main = Library("libcudnn.so.9", SYSTEM, "9.5.0", mapped_by="torch")
    part = Library("libcudnn_cnn.so.9", "/env/libcudnn_cnn.so.9", None, "nvidia-cudnn-cu12", mapped_by="torch")
    assert len(mixed_sets(describe(main, part, nvidia_cudnn_cu12="9.1.0.70"))) == 1
    assert mixed_sets(describe(main, part, nvidia_cudnn_cu12="9.5.0.50")) == []


def test_parts_of_two_versions_are_told_as_they_lie_in_one_folder() -> None:
    main = Library("libcudnn.so.9", "/env/lib/libcudnn.so.9", "9.1.0", "nvidia-cudnn-cu12")
    part = Library("libcudnn_ops.so.9", "/env/lib/libcudnn_ops.so.9", "9.5.0", "nvidia-cudnn-cu12")
    (found,) = mixed_sets(describe(main, part))
    assert found.mapped_by is None


def test_cudnn_8_and_9_side_by_side_and_two_frameworks_are_no_mixture() -> None:
    libraries = (
        Library("libcudnn.so.8", "/env/lib/libcudnn.so.8", "8.9.7"),
        Library("libcudnn.so.9", "/env/lib/libcudnn.so.9", "9.1.0"),
        Library("libcudnn.so.9", "/env/lib/libcudnn.so.9", "9.1.0", mapped_by="torch"),
        Library("libcudnn.so.9", SYSTEM, "9.5.0", mapped_by="tensorflow"),
    )
    assert mixed_sets(describe(*libraries)) == []


def test_cublas_and_its_light_part_belong_together() -> None:
    main = Library("libcublas.so.12", "/a/libcublas.so.12", "12.4.5", mapped_by="torch")
    light = Library("libcublasLt.so.12", "/b/libcublasLt.so.12", "12.1.0", mapped_by="torch")
    assert [one.name for one in mixed_sets(describe(main, light))] == ["cuBLAS"]


def test_a_file_of_two_packages_is_told_once() -> None:
    path = "/env/nvidia/nccl/lib/libnccl.so.2"
    lying = Library("libnccl.so.2", path, "2.21.5", "nvidia-nccl-cu12", ("nvidia-nccl-cu11",))
    mapped = Library("libnccl.so.2", path, "2.21.5", "nvidia-nccl-cu12", mapped_by="torch")
    owners = ("nvidia-nccl-cu12", "nvidia-nccl-cu11")
    assert overwritten_files(describe(lying, mapped)) == [Overwritten(path, owners, "2.21.5", missing=False)]


def test_what_is_not_there_is_told_with_who_wants_it() -> None:
    libraries = (
        Library("libnccl.so.2", "/env/libnccl.so.2", owner="nvidia-nccl-cu12", missing=True),
        Library("libcudart.so.12", "", mapped_by="torch", missing=True),
        Library("libcudnn.so.9", "", mapped_by="tensorflow", missing=True, optional=True),
        Library("libcublas.so.12", "/env/libcublas.so.12"),
    )
    assert absent_libraries(describe(*libraries)) == [
        Absent("libnccl.so.2", "/env/libnccl.so.2", "nvidia-nccl-cu12", "claimed"),
        Absent("libcudart.so.12", "", "torch", "needed"),
        Absent("libcudnn.so.9", "", "tensorflow", "opened"),
    ]


def test_versions_agree_as_far_as_both_go() -> None:
    assert agree("9.1.0", "9.1.0.70")
    assert agree("12.4", "12.4.127")
    assert not agree("12.4", "12.40.1")
    assert not agree("9.1.0", "9.10.0")

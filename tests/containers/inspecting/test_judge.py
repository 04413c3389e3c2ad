"""What is concluded from an inspection's document."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from stackproof.compat.errors import OutsideError
from stackproof.compat.lock import Lock, Package
from stackproof.containers.inspecting.document import read_document
from stackproof.containers.inspecting.drivers import judge_drivers
from stackproof.containers.inspecting.judge import judge_inspection
from stackproof.containers.inspecting.known import optional_libraries, usual_setuid, why_absent

NAMES = ("linking", "cuda-libraries", "architectures", "symbols", "packages", "hygiene")
SITE = "/opt/stack/lib/python3.11/site-packages"
TORCH = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]


def library(component: str, soname: str, version: str | None, owner: str, error: str | None = None) -> dict[str, Any]:
    path = f"{SITE}/nvidia/{owner}/lib/{soname}"
    return {
        "component": component,
        "soname": soname,
        "path": path,
        "owner": owner,
        "version": version,
        "error": error,
    }


def document() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "python": "3.11.2",
        "elf": {"files": 900, "asked": 880, "foreign": 0, "unresolved": [], "unmet": [], "damaged": []},
        "unreadable": [],
        "libraries": [
            library("cudart", "libcudart.so.13", "13.2", "nvidia-cuda-runtime"),
            library("cudnn", "libcudnn.so.9", "9.26.0", "nvidia-cudnn-cu13"),
            library("cudnn", "libcudnn_ops.so.9", "9.26.0", "nvidia-cudnn-cu13"),
            library("cudnn", "libcudnn_cnn.so.9", None, "nvidia-cudnn-cu13"),
        ],
        "architectures": {"nvidia-cufft": ["sm_75"], "torch": TORCH},
        "kernels": {"torch": dict.fromkeys(TORCH, 476)},
        "symbols": {
            "GLIBC": {"has": "2.36", "needs": "2.28", "by": f"{SITE}/torch/lib/libtorch.so"},
            "GLIBCXX": {"has": None, "needs": None, "by": None},
        },
        "packages": {"nvidia-cuda-runtime": "13.2.86", "nvidia-cudnn-cu13": "9.26.0.51", "torch": "2.15.0"},
        "records": {"missing": [], "altered": [], "unrecorded": [], "faults": []},
        "setuid": ["/usr/bin/su"],
        "world_writable": [],
        "capabilities": [],
        "listening": [],
        "leftovers": [],
        "cut": {},
        "seconds": 6.5,
    }


def lock(**changed: str) -> Lock:
    versions = {**document()["packages"], **changed}
    packages = tuple(Package(name, version, ()) for name, version in sorted(versions.items()))
    return Lock("torch2.15.0-py311", "3.11.2", "linux_x86_64", packages, "cu132", "dependency")


def outcomes(
    found: dict[str, Any], gpu: tuple[int, int] | None = (9, 0), against: Lock | None = None
) -> dict[str, str]:
    """Return the checks that do not pass, with why."""
    checks = judge_inspection(read_document("an image", found), against or lock(), gpu)
    assert tuple(check.name for check in checks) == NAMES
    return {check.name: f"{check.outcome}: {check.why}" for check in checks if check.outcome != "pass"}


def test_an_image_as_it_should_be_passes() -> None:
    assert outcomes(document()) == {}


def test_a_library_that_is_nowhere_fails_and_names_both() -> None:
    found = document()
    found["elf"]["unresolved"] = [{"file": f"{SITE}/torch/lib/libtorch.so", "needs": "libgone.so.1", "beside": None}]
    (why,) = outcomes(found).values()
    assert why.startswith("fail")
    assert "libtorch.so needs libgone.so.1" in why


@pytest.mark.parametrize(
    ("file", "needs"),
    [
        (f"{SITE}/torch/lib/libcaffe2_nvrtc.so", "libcuda.so.1"),
        (f"{SITE}/nvidia/nvshmem/lib/nvshmem_transport_ucx.so.6", "libucp.so.0"),
        (f"{SITE}/nvidia/nvshmem/lib/nvshmem_bootstrap_mpi.so.3", "libmpi.so.40"),
        (f"{SITE}/nvidia/cu13/lib/libcufile_rdma.so.1", "librdmacm.so.1"),
    ],
)
def test_libraries_that_may_be_absent_do_not_fail_and_are_explained(file: str, needs: str) -> None:
    found = document()
    found["elf"]["unresolved"] = [{"file": file, "needs": needs, "beside": None}]
    assert outcomes(found) == {}
    assert read_document("an image", found)["elf"]["unresolved"][0]["optional"] == why_absent(file, needs)


@pytest.mark.parametrize(
    ("file", "needs"),
    [
        (f"{SITE}/torch/lib/libtorch.so", "libmpi.so.40"),
        (f"{SITE}/nvidia/nvshmem/lib/libnvshmem_host.so.3", "libucp.so.0"),
        (f"{SITE}/torch/lib/libtorch.so", "libcudart.so.13"),
    ],
)
def test_the_same_library_missing_elsewhere_is_not_explained(file: str, needs: str) -> None:
    assert why_absent(file, needs) is None


def test_every_known_reason_says_where_it_was_seen() -> None:
    assert all(one.reason and one.source and one.files and one.needs for one in optional_libraries())
    assert all(path.startswith("/") for path in usual_setuid())


def test_a_library_that_is_loaded_before_does_not_fail() -> None:
    found = document()
    beside = f"{SITE}/torch/lib/libtorch.so"
    found["elf"]["unresolved"] = [{"file": f"{SITE}/other/_C.so", "needs": "libtorch.so", "beside": beside}]
    assert outcomes(found) == {}


@pytest.mark.parametrize(
    ("place", "value", "check", "words"),
    [
        ("elf.damaged", [{"file": "/a.so", "error": "cut short"}], "linking", "/a.so cannot be loaded: cut short"),
        ("unreadable", ["/secret"], "linking", "/secret could not be read"),
        (
            "elf.unmet",
            [{"file": "/a.so", "library": "/libc.so.6", "version": "GLIBC_2.38"}],
            "symbols",
            "/a.so needs GLIBC_2.38, which /libc.so.6 does not have",
        ),
        ("records.missing", ["/gone.py"], "packages", "/gone.py is recorded and is gone"),
        ("records.altered", ["/other.py"], "packages", "/other.py has another size"),
        ("records.unrecorded", ["/new.py"], "packages", "/new.py lies among the packages"),
        ("records.faults", [{"file": "/x", "error": "no record"}], "packages", "/x: no record"),
        ("setuid", ["/usr/bin/su", "/opt/suid"], "hygiene", "fail: /opt/suid runs as its owner or group"),
        ("world_writable", ["/opt/open"], "hygiene", "/opt/open may be written by anybody"),
        ("capabilities", ["/opt/able"], "hygiene", "/opt/able gets capabilities"),
        ("listening", ["tcp port 22"], "hygiene", "tcp port 22 listens"),
        ("leftovers", [{"path": "/home/.netrc", "what": "credentials"}], "hygiene", "/home/.netrc: credentials"),
        ("python", "3.12.1", "packages", "its Python is 3.12.1, and the lock is for 3.11.2"),
    ],
)
def test_each_fault_fails_its_check_and_no_other(place: str, value: object, check: str, words: str) -> None:
    found = document()
    *above, last = place.split(".")
    table = found[above[0]] if above else found
    table[last] = value
    failed = outcomes(found)
    assert list(failed) == [check]
    assert failed[check].startswith("fail")
    assert words in failed[check]


def test_a_patch_of_python_is_no_difference() -> None:
    assert outcomes({**document(), "python": "3.11.9"}) == {}


def test_packages_are_held_against_the_lock_both_ways() -> None:
    found = document()
    found["packages"] = {"torch": "2.14.0", "nvidia-cudnn-cu13": "9.26.0.51", "pip": "26.0"}
    why = outcomes(found)["packages"]
    assert "nvidia-cuda-runtime 13.2.86 is locked and not there" in why
    assert "pip 26.0 is there and not locked" in why
    assert "torch is 2.14.0 and locked at 2.15.0" in why


def test_versions_that_are_written_otherwise_are_the_same() -> None:
    found = document()
    found["packages"]["torch"] = "2.15"
    assert outcomes(found) == {}


def test_a_cuda_library_of_another_version_than_the_lock_fails() -> None:
    found = document()
    found["libraries"][0]["version"] = "12.9"
    assert "is 12.9, and nvidia-cuda-runtime is locked at 13.2.86" in outcomes(found)["cuda-libraries"]


def test_a_cuda_library_that_does_not_load_fails() -> None:
    found = document()
    found["libraries"][1] = library("cudnn", "libcudnn.so.9", None, "nvidia-cudnn-cu13", "ended by signal 11")
    assert "ended by signal 11" in outcomes(found)["cuda-libraries"]


def test_parts_of_cudnn_in_several_versions_fail() -> None:
    found = document()
    found["libraries"][2]["version"] = "9.25.0"
    why = outcomes(found, against=lock(**{"nvidia-cudnn-cu13": "9"}))["cuda-libraries"]
    assert "cuDNN is of several versions: libcudnn.so.9 9.26.0, libcudnn_ops.so.9 9.25.0" in why


def test_two_frameworks_may_each_bring_a_cudnn() -> None:
    found = document()
    other = library("cudnn", "libcudnn.so.8", "8.9.7", "other")
    found["libraries"].append(other)
    assert outcomes(found) == {}


def test_an_image_without_cuda_says_so() -> None:
    found = {**document(), "libraries": [], "architectures": {}}
    cpu = copy.replace(lock(), build="cpu") if hasattr(copy, "replace") else Lock(**{**vars(lock()), "build": "cpu"})
    failed = outcomes(found, against=cpu)
    assert {name: why.partition(":")[0] for name, why in failed.items()} == {
        "cuda-libraries": "skip",
        "architectures": "skip",
    }


def test_a_cuda_build_without_gpu_code_fails() -> None:
    found = {**document(), "architectures": {"nvidia-cufft": ["sm_75"]}}
    assert outcomes(found)["architectures"].startswith("fail: the lock names the build cu132")


@pytest.mark.parametrize(
    ("gpu", "archs", "words"),
    [
        ((9, 0), TORCH, ""),
        ((8, 9), TORCH, ""),
        ((7, 0), TORCH, "fail: torch has no code for compute capability 7.0"),
        ((9, 0), ["sm_80", "sm_90a"], ""),
        ((9, 2), ["sm_80", "sm_90a"], "fail"),
        ((12, 0), ["sm_80", "compute_90"], ""),
        (None, TORCH, "skip: no GPU is named"),
    ],
)
def test_architectures_are_held_against_the_gpu(gpu: tuple[int, int] | None, archs: list[str], words: str) -> None:
    failed = outcomes({**document(), "architectures": {"torch": archs}}, gpu)
    assert failed.get("architectures", "").startswith(words)
    assert bool(failed) == bool(words)


def test_one_framework_of_two_without_code_fails() -> None:
    found = {**document(), "architectures": {"torch": TORCH, "jax-cuda12-pjrt": ["sm_60"]}}
    assert "jax-cuda12-pjrt has no code" in outcomes(found)["architectures"]
    assert "torch has no code" not in outcomes(found)["architectures"]


def test_many_faults_are_counted_and_the_first_are_named() -> None:
    found = {**document(), "world_writable": [f"/{number}" for number in range(500)], "cut": {"world_writable": 900}}
    (check,) = (one for one in judge_inspection(found, lock()) if one.name == "hygiene")
    assert "and 495 more" in check.why
    assert "900 world-writable" in str(check.measured)


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        "text",
        {},
        {"schema_version": 2},
        {**document(), "packages": ["torch"]},
        {**document(), "setuid": [1]},
        {**document(), "elf": []},
        {**document(), "leftovers": [{"path": "/a"}]},
        {**document(), "architectures": {"torch": "sm_80"}},
        {**document(), "architectures": 3},
        {**document(), "symbols": {"GLIBC": {"has": 2}}},
        {**document(), "cut": {"setuid": "many"}},
        {key: value for key, value in document().items() if key != "libraries"},
    ],
)
def test_what_an_image_says_in_another_form_is_refused(wrong: object) -> None:
    with pytest.raises(OutsideError, match="an image"):
        read_document("an image", wrong)


def answer(
    driver: str, level: str, code: int | None, *, predicted: bool | None, error: str | None = None
) -> dict[str, Any]:
    name = {35: "cudaErrorInsufficientDriver", 100: "cudaErrorNoDevice"}.get(code or 0, "cudaErrorUnknown")
    return {
        "driver": driver,
        "level": level,
        "runtime": f"{SITE}/nvidia/cu13/lib/libcudart.so.13",
        "version": "13.2",
        "code": code,
        "name": name,
        "loads": {35: False, 100: True}.get(code or 0),
        "predicted": predicted,
        "error": error,
    }


OLD = answer("535.183.01", "12.2", 35, predicted=False)
NEW = answer("580.65.06", "13.0", 100, predicted=True)


def test_answers_as_predicted_pass_and_are_told() -> None:
    check = judge_drivers({"answers": [OLD, NEW]})
    assert (check.name, check.outcome) == ("drivers", "pass")
    assert check.measured == "starts on 580.65.06; refuses 535.183.01"


def test_a_driver_that_is_required_and_refused_fails() -> None:
    assert judge_drivers({"answers": [OLD, NEW]}, ["580.65.06"]).outcome == "pass"
    check = judge_drivers({"answers": [OLD, NEW]}, ["535.183.01"])
    assert check.outcome == "fail"
    assert "libcudart.so.13 13.2 refuses driver 535.183.01 (CUDA 12.2)" in check.why


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            answer("535.183.01", "12.2", 100, predicted=False),
            "starts on driver 535.183.01 (CUDA 12.2), and the rules say that it would refuse it",
        ),
        (
            answer("580.65.06", "13.0", 35, predicted=True),
            "refuses driver 580.65.06 (CUDA 13.0), and the rules say that it would start on it",
        ),
        (answer("580.65.06", "13.0", 999, predicted=True), "answered 999 (cudaErrorUnknown)"),
        (answer("580.65.06", "13.0", None, predicted=True, error="it crashed"), "could not be asked"),
    ],
)
def test_answers_other_than_predicted_fail(wrong: dict[str, Any], words: str) -> None:
    check = judge_drivers({"answers": [NEW, wrong]})
    assert check.outcome == "fail"
    assert words in check.why


def test_an_image_without_a_runtime_is_not_judged_on_drivers() -> None:
    assert judge_drivers({"answers": []}).outcome == "skip"

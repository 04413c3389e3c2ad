"""Nothing that its makers put together is called an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from known_working import WORKING, Working
from official_sets import (
    GPUS,
    newest,
    newest_allowed,
    own_pins,
    python_of,
    row_of,
    rows_of,
    runs_on,
    torch_companions,
)
from packaging.version import Version

from stackproof.compat.check import Checker
from stackproof.compat.described import describe
from stackproof.compat.facts import load_table

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKER: Final = Checker()
MODERN: Final = {"glibc": "2.39", "driver": "580.82.07", "os": "Ubuntu 24.04.2 LTS"}
# NVIDIA, CUDA Compatibility, Minor Version Compatibility: the oldest driver of each major, and a GPU that it knows.
OLDEST: Final = {
    11: ("450.80.02", ("sm_50", "sm_60", "sm_61", "sm_70", "sm_75", "sm_80")),
    12: ("525.60.13", ("sm_50", "sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")),
    13: ("580.65.06", tuple(GPUS)),
}
# The metadata of old releases caps nothing; these are the last releases of NumPy, SciPy and protobuf that they take.
NUMPY_1: Final = "<2"
SCIPY_1_12: Final = "<1.13"
DEFAULTS: Final = [row for row in load_table("torch").rows if row["default"]]
WITHOUT_GPU: Final = {"0.4.12"}  # its CUDA extra names a build of jaxlib that was never published
TENSORFLOW: Final = ("keras", "protobuf", "ml-dtypes", "numpy", "h5py", "tensorboard", "typing-extensions")


def errors(components: dict[str, str], packages: dict[str, str]) -> list[str]:
    answer = CHECKER.check(describe(components, packages))
    return [
        f"{finding.code} on {components} {packages}: {finding.message}"
        for finding in answer.findings
        if finding.severity == "error"
    ]


@pytest.mark.parametrize("row", DEFAULTS, ids=lambda row: row["torch"])
def test_torch_with_its_own_pins_and_companions(row: dict[str, list[str]]) -> None:
    release = str(row["torch"])
    gpus = [GPUS[arch] for arch in row["archs"] if arch in GPUS]
    for python in [python_of(tag) for tag in row["pythons"] if tag.startswith("cp3")]:
        packages = {"torch": release, **torch_companions(release, python), **own_pins("torch", release, python)}
        for gpu in gpus:
            assert errors({**MODERN, "python": python, "gpu": gpu}, packages) == []


def test_companions_were_found_for_most_releases() -> None:
    with_vision = [
        row for row in DEFAULTS if "torchvision" in torch_companions(row["torch"], python_of(row["pythons"][-1]))
    ]
    assert len(with_vision) > len(DEFAULTS) / 2


@pytest.mark.parametrize("major", OLDEST)
def test_tagged_builds_on_the_oldest_driver_of_their_major(major: int) -> None:
    driver, archs = OLDEST[major]
    rows = [row for row in load_table("torch").rows if row["cuda"].startswith(f"{major}.")]
    assert rows
    for row in rows:
        build = f"{row['torch']}+cu{row['cuda'].replace('.', '')}"
        for arch in set(row["archs"]) & set(archs):
            assert errors({"driver": driver, "gpu": GPUS[arch]}, {"torch": build}) == []


def _tensorflow_sets() -> Iterator[tuple[str, dict[str, str]]]:
    for row in load_table("tensorflow").rows:
        release = row["tensorflow"]
        for python in [python_of(tag) for tag in row["pythons"] if tag.startswith("cp3")]:
            packages = {"tensorflow": release, **newest_allowed("tensorflow", release, TENSORFLOW, python)}
            if Version(release) < Version("2.18") and "numpy" in packages:
                packages["numpy"] = newest("numpy", NUMPY_1, python) or "1.26.4"
            if Version(release) <= Version("2.9.0"):
                packages["protobuf"] = "3.19.6"
            yield python, packages
            declared = row_of("tensorflow", release)
            if declared is not None and "and-cuda" in (declared.get("extras") or {}):
                yield python, {**packages, **own_pins("tensorflow", release, python, "and-cuda")}


def test_tensorflow_with_the_newest_that_it_takes() -> None:
    sets = list(_tensorflow_sets())
    assert len(sets) > 150
    for python, packages in sets:
        assert errors({**MODERN, "python": python, "gpu": "Tesla T4"}, packages) == []


def _jax_sets() -> Iterator[tuple[str, dict[str, str]]]:
    for row in load_table("jax").rows:
        release = row["jax"]
        declared, built = row_of("jax", release), row_of("jaxlib", release)
        for python in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"):
            if release in WITHOUT_GPU or not (
                declared and built and runs_on(declared, python) and runs_on(built, python)
            ):
                continue
            packages = {"jax": release, "jaxlib": release, "numpy": "1.26.4", "scipy": "1.12.0"}
            if Version(release) >= Version("0.4.26"):
                packages |= newest_allowed("jax", release, ("numpy", "scipy", "ml-dtypes"), python)
            yield python, packages
            for plugin in ("jax-cuda12", "jax-cuda13"):
                if row_of(f"{plugin}-plugin", release) is not None:
                    yield python, {**packages, f"{plugin}-plugin": release, f"{plugin}-pjrt": release}


def test_jax_with_jaxlib_and_plugin_of_its_release() -> None:
    sets = list(_jax_sets())
    assert len(sets) > 150
    for python, packages in sets:
        around = {**MODERN, "gpu": "Tesla T4"}
        if Version(packages["jax"]) >= Version("0.4.26"):  # before it, the NumPy of the time is not looked up
            around["python"] = python
        assert errors(around, packages) == []


@pytest.mark.parametrize(
    ("onnx", "onnxruntime", "python"),
    [
        ("1.12.0", "1.12.1", "3.10"),
        ("1.13.1", "1.14.1", "3.10"),
        ("1.14.1", "1.15.1", "3.11"),
        ("1.15.0", "1.16.3", "3.11"),
        ("1.16.1", "1.18.1", "3.12"),
        ("1.17.0", "1.20.1", "3.12"),
        ("1.18.0", "1.23.2", "3.13"),
        ("1.19.1", "1.24.1", "3.13"),
        ("1.20.1", "1.24.1", "3.13"),
    ],
)
def test_onnx_and_onnxruntime_of_one_time(onnx: str, onnxruntime: str, python: str) -> None:
    for runtime in ("onnxruntime", "onnxruntime-gpu"):
        assert errors({**MODERN, "python": python}, {"onnx": onnx, runtime: onnxruntime}) == []


@pytest.mark.parametrize("working", WORKING, ids=lambda working: working.name)
def test_environments_that_are_known_to_work(working: Working) -> None:
    assert errors(working.components, working.packages) == []


def test_the_sets_use_releases_that_the_facts_know() -> None:
    """A set of releases that no row speaks of would prove nothing."""
    known = {
        release for name in ("torch", "torchvision", "xformers") for row in rows_of(name) for release in row["versions"]
    }
    assert {working.packages.get("xformers") for working in WORKING} - {None} <= known

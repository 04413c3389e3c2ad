"""Locks: written, read back, and named by what an environment made from them is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from packaging.requirements import Requirement

from stackproof.compat.lock import Lock, Package

PACKAGES = (
    Package("numpy", "2.4.6", ("sha256:aa", "sha256:bb")),
    Package("torch", "2.13.0+cpu", ("sha256:cc",)),
    Package("typing-extensions", "4.16.0", ()),
)
LOCK = Lock("torch2.13.0-py311", "3.11.7", "linux_x86_64", PACKAGES, "cpu", "local version")


def test_what_was_written_is_read_back() -> None:
    kept = json.loads(json.dumps(LOCK.to_dict()))
    assert kept["schema_version"] == 1
    assert Lock.from_dict(kept) == LOCK
    assert Lock.from_dict(kept).digest == LOCK.digest


@pytest.mark.parametrize("missing", ["stack", "python", "platform", "packages", "build", "build_source"])
def test_a_missing_field_is_an_error(missing: str) -> None:
    kept = LOCK.to_dict()
    del kept[missing]
    with pytest.raises(KeyError, match=missing):
        Lock.from_dict(kept)


def test_requirements_are_pinned_with_every_hash() -> None:
    assert LOCK.to_requirements() == (
        "numpy==2.4.6 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        "torch==2.13.0+cpu \\\n    --hash=sha256:cc\n"
        "typing-extensions==4.16.0\n"
    )
    lines = LOCK.to_requirements().replace("\\\n", "").splitlines()
    names = [Requirement(line.partition("--hash")[0].strip()).name for line in lines]
    assert names == [package.name for package in PACKAGES]


@pytest.mark.parametrize(
    "changes",
    [
        {"python": "3.11.8"},
        {"platform": "linux_aarch64"},
        {"packages": PACKAGES[:2]},
        {"packages": (replace(PACKAGES[0], version="2.4.7"), *PACKAGES[1:])},
        {"packages": (replace(PACKAGES[0], hashes=("sha256:aa",)), *PACKAGES[1:])},
    ],
)
def test_another_environment_has_another_digest(changes: dict[str, object]) -> None:
    assert replace(LOCK, **changes).digest != LOCK.digest  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", [{"stack": "another"}, {"build": "default"}, {"build_source": "not stated"}])
def test_the_same_environment_under_other_names_has_the_same_digest(changes: dict[str, str]) -> None:
    assert replace(LOCK, **changes).digest == LOCK.digest


def test_a_version_is_found_by_its_name() -> None:
    assert LOCK.version("torch") == "2.13.0+cpu"
    assert LOCK.version("jax") is None

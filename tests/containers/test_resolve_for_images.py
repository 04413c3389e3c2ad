from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from small_wheels import write_wheel

from stackproof.compat.cell import Stack
from stackproof.compat.errors import UnsolvableError
from stackproof.containers.interpreter import interpreter_of
from stackproof.containers.resolve import resolve

if TYPE_CHECKING:
    from pathlib import Path

BASE = "debian:bookworm@sha256:0"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, the only place that packages come from."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    write_wheel(tmp_path, "numpy", "2.0.0")
    return tmp_path


def test_a_lock_is_for_the_python_and_the_c_library_of_the_image(index: Path) -> None:
    old = write_wheel(index, "jax", "1.0", "cp39-cp39-manylinux_2_17_x86_64")
    new = write_wheel(index, "jax", "1.0", "cp313-cp313-manylinux_2_39_x86_64")
    for version, glibc, wanted in (("3.9.2", "2.31", old), ("3.13.5", "2.41", new)):
        image = interpreter_of(version, glibc, "x86_64")
        lock = resolve(Stack("jax", "1.0", version.rpartition(".")[0]), image, "default", base=BASE)
        assert (lock.python, lock.base) == (version, BASE)
        (jax,) = [package for package in lock.packages if package.name == "jax"]
        assert wanted in jax.hashes
    with pytest.raises(UnsolvableError):
        resolve(Stack("jax", "1.0", "3.13"), interpreter_of("3.13.5", "2.36", "x86_64"), "default", base=BASE)


def test_the_same_packages_on_another_base_are_another_lock(index: Path) -> None:
    write_wheel(index, "jax", "1.0")
    image = interpreter_of("3.11.2", "2.36", "x86_64")
    locks = [resolve(Stack("jax", "1.0", "3.11"), image, "default", base=base) for base in (BASE, f"{BASE}1", "")]
    assert len({lock.packages for lock in locks}) == 1
    assert len({lock.digest for lock in locks}) == len(locks)


def test_an_extra_that_the_package_does_not_have_is_refused(index: Path) -> None:
    write_wheel(index, "jax", "1.0")
    image = interpreter_of("3.11.2", "2.36", "x86_64")
    with pytest.raises(UnsolvableError, match=r"jax==1\.0 has no extra named cuda21"):
        resolve(Stack("jax", "1.0", "3.11", extras=("cuda21",)), image, "default", base=BASE)


def test_a_newer_c_library_than_uv_knows_is_resolved_as_the_newest_that_it_does(index: Path) -> None:
    write_wheel(index, "jax", "1.0", "cp313-cp313-manylinux_2_40_x86_64")
    lock = resolve(Stack("jax", "1.0", "3.13"), interpreter_of("3.13.5", "2.99", "x86_64"), "default", base=BASE)
    assert lock.platform == "manylinux_2_99_x86_64"

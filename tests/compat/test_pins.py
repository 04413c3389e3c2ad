"""The stack that a user's words for a backend mean."""

from __future__ import annotations

import pytest
from packaging.version import Version

from stackproof.compat.cell import FRAMEWORK_PACKAGES, Stack
from stackproof.compat.errors import InputError
from stackproof.compat.pins import backend_names, read_backend


@pytest.mark.parametrize("name", ["torch", "tensorflow", "jax"])
def test_a_backends_name_alone_stands_for_an_exact_version(name: str) -> None:
    stack = read_backend(name, "3.12")
    assert (stack.framework, stack.python, stack.packages) == (name, "3.12", ())
    assert stack.package in FRAMEWORK_PACKAGES
    assert str(Version(stack.version)) == stack.version


def test_every_framework_has_a_backend_of_its_name() -> None:
    assert set(backend_names()) == set(FRAMEWORK_PACKAGES.values())


@pytest.mark.parametrize(
    ("asked", "package", "version"),
    [
        ("torch==2.15.0", "torch", "2.15.0"),
        ("torch==2.13.0+cpu", "torch", "2.13.0+cpu"),
        ("  jax==0.9.2 ", "jax", "0.9.2"),
        ("JAX==0.9.2", "jax", "0.9.2"),
        ("tensorflow-cpu==2.20.0", "tensorflow-cpu", "2.20.0"),
        ("torch==2.16.0rc1", "torch", "2.16.0rc1"),
    ],
)
def test_a_version_can_be_named(asked: str, package: str, version: str) -> None:
    assert read_backend(asked, "3.11") == Stack(package, version, "3.11")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("pytroch", "'pytroch' is no backend: did you mean 'torch'?"),
        ("numpy==2.4.6", "'numpy' is no backend: known: jax, tensorflow, tensorflow-cpu, torch"),
        ("tensorflow_cpu==2.20.0", "'tensorflow_cpu' is no backend: did you mean 'tensorflow-cpu'?"),
        ("tensorflow-cpu", "tensorflow-cpu needs a version, such as tensorflow-cpu==2.21.0"),
        ("torch>=2.13", "'torch>=2.13' is no backend: give a name such as torch or torch==2.13.0"),
        ("torch==", "'torch==' is no backend"),
        ("torch==two", "'torch==two' is no backend"),
        ("torch jax", "'torch jax' is no backend"),
        ("torch==2.13.0; rm -r", "is no backend"),
        ("--version", "is no backend"),
        ("", "'' is no backend"),
    ],
)
def test_other_words_are_refused_with_the_mend(asked: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        read_backend(asked, "3.11")
    assert (caught.value.exit_code, caught.value.source) == (2, "--backend")
    assert says in str(caught.value)

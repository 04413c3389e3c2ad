"""Stacks and cells, and the readable ids that name them everywhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# Framework (the target of a spec) of each package that brings one.
FRAMEWORK_PACKAGES: Final[dict[str, str]] = {
    "torch": "torch",
    "tensorflow": "tensorflow",
    "tensorflow-cpu": "tensorflow",
    "jax": "jax",
}

_UNFIT: Final = re.compile(r"[^a-z0-9._]+")
_DIGITS: Final = 12


@dataclass(frozen=True)
class Stack:
    """A set of component versions to be shown.

    Attributes:
        package: The distribution that brings the framework that specs run on, a key of `FRAMEWORK_PACKAGES`.
        version: Its exact version, such as `2.13.0`.
        python: Python as major.minor, such as `3.11`.
        packages: Further pinned distributions, (normalised name, exact version), sorted. Another framework may be among
            them: both are installed, and specs run on the one of `package`.
        extras: Extras of `package`, normalised and sorted, such as `cuda12` of jax.
        os: The base image to stand on, such as `debian:bookworm`; empty where that is left open.
    """

    package: str
    version: str
    python: str
    packages: tuple[tuple[str, str], ...] = ()
    extras: tuple[str, ...] = ()
    os: str = ""

    @property
    def framework(self) -> str:
        """Return the target that the stack's specs run on: `torch`, `tensorflow` or `jax`."""
        return FRAMEWORK_PACKAGES[self.package]

    @property
    def id(self) -> str:
        """Return the readable id, such as `jax0.10.2-py311-numpy2.2.6` or `jax0.10.2-cuda12-py311-bookworm`."""
        extras = f"-{'_'.join(self.extras)}" if self.extras else ""
        further = "".join(f"-{name}{version}" for name, version in self.packages)
        system = f"-{short_os(self.os)}" if self.os else ""
        return f"{self.package}{self.version}{extras}-py{self.python.replace('.', '')}{further}{system}"

    @property
    def requirements(self) -> tuple[str, ...]:
        """Return the requirements to resolve: frameworks, further pins, and numpy, which every program needs.

        Stacks that hold the same packages have the same requirements, whichever of their frameworks specs run on.
        """
        pins = sorted([(self.package, self.version), *self.packages], key=_frameworks_first)
        extras = {self.package: f"[{','.join(self.extras)}]"} if self.extras else {}
        named = [f"{name}{extras.get(name, '')}=={version}" for name, version in pins]
        return tuple(named if "numpy" in dict(pins) else [*named, "numpy"])


@dataclass(frozen=True)
class Cell:
    """One stack x one spec of a matrix."""

    stack: Stack
    spec: str

    @property
    def id(self) -> str:
        """Return the readable id, such as `torch2.13.0-py311-gpt_tiny`."""
        return f"{self.stack.id}-{self.spec}"


def short_os(name: str) -> str:
    """Return a base image's name as part of an id: `bookworm`, `nvidia-cuda-13.0.1-base-ubuntu24.04`, `stack-0123…`.

    Args:
        name: A name such as `debian:bookworm`, or a repository with a digest, of which twelve digits are kept.
    """
    repository, _, digest = name.partition("@sha256:")
    plain = f"{repository.rpartition('/')[2]}-{digest[:_DIGITS]}" if digest else name.removeprefix("debian:")
    return _UNFIT.sub("-", plain.lower())


def _frameworks_first(pin: tuple[str, str]) -> tuple[bool, str]:
    return pin[0] not in FRAMEWORK_PACKAGES, pin[0]

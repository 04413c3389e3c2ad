"""Stacks and cells, and the readable ids that name them everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Framework (the target of a spec) of each package that brings one.
FRAMEWORK_PACKAGES: Final[dict[str, str]] = {
    "torch": "torch",
    "tensorflow": "tensorflow",
    "tensorflow-cpu": "tensorflow",
    "jax": "jax",
}


@dataclass(frozen=True)
class Stack:
    """A set of component versions to be shown.

    Attributes:
        package: The distribution that brings the framework, a key of `FRAMEWORK_PACKAGES`.
        version: Its exact version, such as `2.13.0`.
        python: Python as major.minor, such as `3.11`.
        packages: Further pinned distributions, (normalised name, exact version), sorted.
    """

    package: str
    version: str
    python: str
    packages: tuple[tuple[str, str], ...] = ()

    @property
    def framework(self) -> str:
        """Return the target that the stack's specs run on: `torch`, `tensorflow` or `jax`."""
        return FRAMEWORK_PACKAGES[self.package]

    @property
    def id(self) -> str:
        """Return the readable id, such as `torch2.13.0-py311` or `jax0.10.2-py311-numpy2.2.6`."""
        extra = "".join(f"-{name}{version}" for name, version in self.packages)
        return f"{self.package}{self.version}-py{self.python.replace('.', '')}{extra}"

    @property
    def requirements(self) -> tuple[str, ...]:
        """Return the requirements to resolve: the framework, numpy (every program needs it) and further pins."""
        pins = dict(self.packages)
        named = [f"{self.package}=={self.version}", *(f"{name}=={pin}" for name, pin in self.packages)]
        return tuple(named if "numpy" in pins else [*named, "numpy"])


@dataclass(frozen=True)
class Cell:
    """One stack x one spec of a matrix."""

    stack: Stack
    spec: str

    @property
    def id(self) -> str:
        """Return the readable id, such as `torch2.13.0-py311-gpt_tiny`."""
        return f"{self.stack.id}-{self.spec}"

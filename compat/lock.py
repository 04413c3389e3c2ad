"""The lock: the exact packages, with hashes, that a stack resolved to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Self

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Package:
    """One pinned distribution: normalised name, exact version and accepted `sha256:…` hashes."""

    name: str
    version: str
    hashes: tuple[str, ...]


@dataclass(frozen=True)
class Lock:
    """What a stack resolved to.

    Attributes:
        stack: Id of the stack.
        python: Full version of the interpreter resolved for, such as `3.11.7`.
        platform: Platform tag resolved for, such as `linux_x86_64`.
        packages: Every distribution of the environment, sorted by name.
        build: Build of the framework that was taken: `cpu`, `cu132`, or `default` where neither its local version nor
            its dependencies tell.
        build_source: Why that build is named: `local version`, `dependency nvidia-cuda-runtime 13.2.75`,
            `package tensorflow-cpu`, `no accelerator plugin` (jax) or `not stated`.
        base: The image to build on with its digest, such as `debian:bookworm@sha256:…`; empty for a venv.
    """

    stack: str
    python: str
    platform: str
    packages: tuple[Package, ...]
    build: str
    build_source: str
    base: str = ""

    @property
    def digest(self) -> str:
        """Return the SHA-256 over what an environment made from the lock is: Python, platform, packages and base."""
        tables = {"python": self.python, "platform": self.platform, "packages": self.to_dict()["packages"]}
        if self.base:
            tables["base"] = self.base
        return hashlib.sha256(json.dumps(tables, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def version(self, name: str) -> str | None:
        """Return the locked version of a distribution, or None where the lock has none."""
        return next((package.version for package in self.packages if package.name == name), None)

    def to_requirements(self) -> str:
        """Return the lock as a requirements file with hashes."""
        lines = []
        for package in self.packages:
            marks = "".join(f" \\\n    --hash={value}" for value in package.hashes)
            lines.append(f"{package.name}=={package.version}{marks}\n")
        return "".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the lock as JSON-ready tables."""
        loaded: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return {"schema_version": SCHEMA_VERSION, **loaded}

    @classmethod
    def from_dict(cls, tables: dict[str, Any]) -> Self:
        """Read back what `to_dict` wrote.

        Raises:
            KeyError: A field is missing.
        """
        packages = tuple(Package(p["name"], p["version"], tuple(p["hashes"])) for p in tables["packages"])
        return cls(
            stack=tables["stack"],
            python=tables["python"],
            platform=tables["platform"],
            packages=packages,
            build=tables["build"],
            build_source=tables["build_source"],
            base=tables.get("base", ""),
        )

"""A base: the image that an environment is made in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Base:
    """An image that an engine has, with what its own Python says of it.

    Attributes:
        name: Name of its pin, such as `debian:bookworm`.
        reference: What `FROM` takes: `repository:tag` for one made here, `repository@sha256:…` for one of a registry.
        digest: `sha256:…` of what it holds: of the archive it was made from, or of the registry's manifest.
        python: Full version of its Python, such as `3.11.2`.
        glibc: Version of its C library, such as `2.36`.
        interpreter: Path of its Python.
        machine: Its machine, such as `x86_64`.
        source: Where its pin is from.
        date: When its pin was made, as `2026-11-30`.
        packages: System packages that it has beyond those of its pin.
    """

    name: str
    reference: str
    digest: str
    python: str
    glibc: str
    interpreter: str
    machine: str
    source: str
    date: str
    packages: tuple[str, ...] = ()

    @property
    def pinned(self) -> str:
        """Return its name with the digest of what it holds, such as `debian:bookworm@sha256:…`."""
        return f"{self.name}@{self.digest}"

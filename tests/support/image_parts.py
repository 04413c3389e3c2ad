"""Locks and bases for tests of images."""

from __future__ import annotations

from stackproof.compat.lock import Lock, Package
from stackproof.containers.bases.base import Base

BASE = Base(
    name="debian:trixie",
    reference="stackproof/base:trixie-0123456789ab",
    digest=f"sha256:{'b' * 64}",
    python="3.13.5",
    glibc="2.41",
    interpreter="/usr/bin/python3",
    machine="x86_64",
    source="measured",
    date="2026-11-30",
)


def package(name: str, version: str = "1.0", *hashes: str) -> Package:
    """Return a pinned distribution."""
    return Package(name, version, hashes or (f"sha256:{'a' * 64}",))


def lock(*packages: Package | str, build: str = "default", stack: str = "torch2.15.0-py313") -> Lock:
    """Return a lock of distributions, given whole or by their names."""
    whole = [entry if isinstance(entry, Package) else package(entry) for entry in packages]
    return Lock(
        stack, "3.13.5", "linux_x86_64", tuple(sorted(whole, key=lambda entry: entry.name)), build, "not stated"
    )

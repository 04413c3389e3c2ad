"""A matrix whose frameworks are stand-ins that need numpy only, certified by real workers in real processes.

What has to ask a package index is stood in for: resolving and building give this very environment.
"""

from __future__ import annotations

import re
import shutil
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackproof.backends import archive
from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train
from stackproof.compat.errors import OutsideError, UnsolvableError
from stackproof.compat.lock import Lock, Package
from stackproof.containers.venv import Environment
from stackproof.matrix import locking
from stackproof.matrix.config import Matrix, RunSettings, ThroughputSettings
from stackproof.matrix.pipeline import Request, certify
from stackproof.matrix.progress import Reporter
from stackproof.matrix.site import Settings

if TYPE_CHECKING:
    import pytest

    from stackproof.compat.cell import Stack

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SPEC = Spec("tiny", Mlp(inputs=3, hidden=(), outputs=2), Data(batch=2), Optimizer(lr=0.25), Schedule(), Train(steps=4))


class Counter(Reporter):
    """Counts what it is told.

    Attributes:
        total: Stages planned and not skipped.
        done: Stages that came to an end.
        events: Every stage's end: `resolve torch2.13.0-py311 made`, `reused` or `failed`.
    """

    def __init__(self) -> None:
        self.total = self.done = 0
        self.events: list[str] = []

    def plan(self, stages: int) -> None:
        self.total += stages

    def skip(self, stages: int) -> None:
        self.total -= stages

    def finish(self, stage: str, subject: str, seconds: float, *, reused: bool) -> None:
        del seconds
        self._end(stage, subject, "reused" if reused else "made")

    def fail(self, stage: str, subject: str, reason: str) -> None:
        del reason
        self._end(stage, subject, "failed")

    def _end(self, stage: str, subject: str, how: str) -> None:
        self.done += 1
        self.events.append(f"{stage} {subject} {how}")
        assert self.done <= self.total, self.events


def make_source(folder: Path) -> Path:
    """Copy the compile layer with stand-ins for `torch` and `jax`."""
    here, original = Path(__file__).resolve().parent, Path(archive.__file__).resolve().parent
    ignored = shutil.ignore_patterns("__pycache__", "on_*")
    source = shutil.copytree(original, folder / "backends", ignore=ignored)
    for name in ("torch", "jax"):
        shutil.copytree(here / "on_numpy", source / f"on_{name}", ignore=ignored)
    return source


def lock_of(stack: Stack) -> Lock:
    """Return a lock of all that is installed here."""
    found = {re.sub(r"[-_.]+", "-", entry.metadata["Name"]).lower(): entry.version for entry in distributions()}
    # The hash makes each stack's lock another one.
    packages = tuple(Package(name, version, (f"sha256:{stack.id}",)) for name, version in sorted(found.items()))
    return Lock(stack.id, PYTHON, "linux_x86_64", packages, "cpu", "not stated")


class Fleet:
    """A fleet of stand-ins.

    Args:
        monkeypatch: Puts the stand-ins for resolving and building in their places.
        source: See `make_source`.
        folder: The output folder.

    Attributes:
        unresolvable: Versions that cannot be resolved.
        unbuildable: Versions whose environment cannot be made.
        built: Versions whose environment was made, in order.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, source: Path, folder: Path) -> None:
        self._source, self.folder = source, folder
        self.unresolvable: set[str] = set()
        self.unbuildable: set[str] = set()
        self.built: list[str] = []
        monkeypatch.setattr(locking, "resolve", self._resolve)
        monkeypatch.setattr(locking, "build_venv", self._build)

    def _resolve(self, stack: Stack, *_: Any, **__: Any) -> Lock:
        if stack.version in self.unresolvable:
            raise UnsolvableError(f"resolving {stack.id}: there is no such version")
        return lock_of(stack)

    def _build(self, lock: Lock, *_: Any, **__: Any) -> Environment:
        if any(version in lock.stack for version in self.unbuildable):
            raise OutsideError(f"making the environment of {lock.stack}: no space left")
        reused = lock.stack in self.built
        self.built.append(lock.stack)
        return Environment(Path(sys.prefix), Path(sys.executable), lock.digest, reused=reused)

    def matrix(
        self, *specs: Spec, torch: tuple[str, ...] = ("1.0", "2.0"), prune: bool = False, **settings: Any
    ) -> Matrix:
        """Return a matrix over versions of `torch`, the first of which is the baseline.

        What the rules know of the real releases of these numbers is only asked with `prune`.
        """
        speed = ThroughputSettings(**{"rounds": 6, "seconds": 0.001, "minimum_ratio": 0.01, **settings})
        axes = {"torch": torch, "python": (PYTHON,)}
        return Matrix(
            "fleet", "fleet.toml", specs or (SPEC,), axes, {"torch": torch[0]},
            run=RunSettings(device="cpu", time_limit=60, prune=prune), throughput=speed,
        )  # fmt: skip

    def certify(
        self, matrix: Matrix, *, fresh: bool = False, cells: str = "", resume: bool = False, engine: str = "venv"
    ) -> tuple[dict[str, Any], Counter]:
        """Certify a matrix, and hold the counts of its progress against each other."""
        counter = Counter()
        settings = Settings(fresh=fresh, jobs=2, reporter=counter, source=self._source, engine=engine)
        report = certify(Request(matrix, self.folder, cells, resume, settings))
        assert counter.done == counter.total, counter.events
        return report, counter

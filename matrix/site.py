"""Where a matrix is worked on: its store, its machine, its worker, and who is told of progress."""

from __future__ import annotations

import hashlib
import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..backends import program as programs
from ..backends.archive import write_bundle
from ..backends.data import batches, batches_digest
from ..compat.errors import UnsolvableError
from ..containers.interpreter import find_python
from .compiling import compile_spec
from .jobs import Program
from .machine import read_machine
from .progress import Reporter
from .store import outside
from .workload_files import pack_files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ..backends.spec import Spec
    from ..compat.cell import Stack
    from ..containers.interpreter import Interpreter
    from .config import Matrix, RunSettings, ThroughputSettings
    from .imaging import Images
    from .machine import Machine
    from .store import Store


@dataclass(frozen=True)
class Site:
    """What every stage needs.

    Attributes:
        folder: The output folder, absolute.
        store: Its store.
        machine: This machine.
        worker: The worker's zip.
        programs: Each spec's program by spec name.
        run: How runs are made.
        throughput: How speed is compared.
        fresh: Whether results in the store are left unused.
        jobs: How many workers may run at once, but for measurements.
        reporter: Who is told of progress.
        cancel: Set when everything is to stop.
        interpreters: Those found so far, or why there is none, by version.
        images: How images are made; None where environments are venvs.
    """

    folder: Path
    store: Store
    machine: Machine
    worker: Path
    programs: Mapping[str, Program]
    run: RunSettings
    throughput: ThroughputSettings
    fresh: bool = False
    jobs: int = 1
    reporter: Reporter = field(default_factory=Reporter)
    cancel: threading.Event = field(default_factory=threading.Event)
    interpreters: dict[str, Interpreter | UnsolvableError] = field(default_factory=dict)
    images: Images | None = None

    def interpreter(self, stack: Stack) -> Interpreter:
        """Return an interpreter of a stack's version; looked for once.

        Raises:
            UnsolvableError: There is none.
            OutsideError: The engine, or what a base is made from, failed.
        """
        if self.images is not None:
            return self.images.interpreter(stack)
        python = stack.python
        if python not in self.interpreters:
            try:
                self.interpreters[python] = find_python(python, self.cancel)
            except UnsolvableError as error:
                self.interpreters[python] = error
        found = self.interpreters[python]
        if isinstance(found, UnsolvableError):
            raise found
        return found

    @property
    def worker_digest(self) -> str:
        """Return the SHA-256 of the worker's zip."""
        return hashlib.sha256(self.worker.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Settings:
    """How a site is opened.

    Attributes:
        fresh: As `Site.fresh`.
        jobs: As `Site.jobs`; None for as many as the machine has room for.
        reporter: As `Site.reporter`.
        cancel: As `Site.cancel`.
        source: As that of `archive.bundle`.
        engine: `venv`, or the engine that images are built and run with: `docker` or `podman`.
        adapt: What is done to each compiled program, such as giving it other initial weights.
    """

    fresh: bool = False
    jobs: int | None = None
    reporter: Reporter = field(default_factory=Reporter)
    cancel: threading.Event = field(default_factory=threading.Event)
    source: Path | None = None
    engine: str = "venv"
    adapt: Callable[[programs.Program], programs.Program] = lambda program: program


def open_site(folder: Path, store: Store, matrix: Matrix, settings: Settings) -> Site:
    """Prepare a folder for work on a matrix.

    Raises:
        InputError: A spec's model file cannot be trained as the spec asks.
        OutsideError: The folder cannot be written.
    """
    with outside(folder):
        worker = write_bundle(folder / "work", settings.source)
    return Site(
        folder=folder,
        store=store,
        machine=read_machine(),
        worker=worker,
        programs={spec.name: _compile(folder, store, spec, settings) for spec in matrix.specs},
        run=matrix.run,
        throughput=matrix.throughput,
        fresh=settings.fresh,
        jobs=settings.jobs or max(1, len(os.sched_getaffinity(0)) // matrix.run.threads),
        reporter=settings.reporter,
        cancel=settings.cancel,
        images=_open_images(matrix, settings),
    )


def _open_images(matrix: Matrix, settings: Settings) -> Images | None:
    if settings.engine == "venv":
        return None
    from .imaging import open_images  # noqa: PLC0415 - the engine's client is only loaded where there is one

    return open_images(settings.engine, matrix.image, matrix.bases, settings.reporter.tell, settings.cancel)


def _compile(folder: Path, store: Store, spec: Spec, settings: Settings) -> Program:
    if spec.workload is not None:
        kept = store.put_blob(pack_files(spec), ".zip")
        return Program(spec, kept, "", folder / "evidence" / f"{kept}.zip")
    made = settings.adapt(compile_spec(spec))
    kept = store.put_blob(programs.dump(made), ".npz")
    path = folder / "evidence" / f"{kept}.npz"
    return Program(spec, made.digest, batches_digest(batches(spec, made.inputs)), path)

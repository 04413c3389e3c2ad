"""What the integration tests share: a cache of environments, the command line, and a matrix certified once."""

from __future__ import annotations

import shutil
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from command_line import CommandLine, Ended, usual_variables
from small_mounts import small_mounts
from tiny import JAX, read_report, write_matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Certified:
    """A matrix file, the output folder it was certified in, and what the command said."""

    matrix: Path
    folder: Path
    ended: Ended

    @property
    def report(self) -> dict[str, Any]:
        return read_report(self.folder)


@pytest.fixture(scope="session", autouse=True)
def _heeds_interrupts() -> Iterator[None]:
    """What a shell starts in the background ignores Ctrl-C, and so would every command under test."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that every test's environments are made in."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def command(tmp_path: Path, cache: Path) -> Iterator[CommandLine]:
    made = CommandLine(tmp_path / "commands", usual_variables(cache))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def certified(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Certified]:
    """Two versions of JAX and one spec, certified from nothing; never changed by a test."""
    folder = tmp_path_factory.mktemp("certified")
    matrix = write_matrix(folder, {"jax": list(JAX)})
    command = CommandLine(folder / "commands", usual_variables(cache))
    ended = command.run("certify", matrix, "--out", folder / "out", "--verbose")
    yield Certified(matrix, folder / "out", ended)
    command.stop()


@pytest.fixture
def copied(certified: Certified, tmp_path: Path) -> Certified:
    """The certified matrix in an output folder of the test's own."""
    assert certified.ended.code == 0, certified.ended.err
    shutil.copytree(certified.folder, tmp_path / "out")
    return Certified(certified.matrix, tmp_path / "out", certified.ended)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that mounts a small file system, given its size such as `2m`."""
    with small_mounts(tmp_path) as mount:
        yield mount

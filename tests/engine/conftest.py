"""What the tests with real engines share: one cache, for bases take a minute to make, and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import CommandLine, usual_variables
from small_mounts import small_mounts

from stackproof.containers.venv import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def cache() -> Path:
    """The folder that bases, wheels and the stand-in driver are kept in, as users have it."""
    return cache_folder()


@pytest.fixture
def command(tmp_path: Path, cache: Path) -> Iterator[CommandLine]:
    made = CommandLine(tmp_path / "commands", usual_variables(cache))
    yield made
    made.stop()


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that mounts a small file system, given its size such as `2m`."""
    with small_mounts(tmp_path) as mount:
        yield mount

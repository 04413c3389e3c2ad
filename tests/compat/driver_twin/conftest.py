"""The stand-in driver, compiled once for these tests."""

import shutil
from pathlib import Path

import pytest
from required import need

from stackproof.compat.driver_twin import build_twin


@pytest.fixture(scope="session")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = any(shutil.which(name) for name in ("cc", "gcc", "clang"))
    need("compiler", "" if found else "the driver twin is C: install gcc or clang")
    return build_twin(tmp_path_factory.mktemp("twin"))

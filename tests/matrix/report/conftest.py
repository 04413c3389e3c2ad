from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

SAMPLE = runpy.run_path(str(Path(__file__).with_name("sample.py")))


@pytest.fixture
def sample() -> dict[str, Any]:
    return SAMPLE


@pytest.fixture
def certified() -> dict[str, Any]:
    return SAMPLE["certified_report"]()


@pytest.fixture
def every_verdict() -> dict[str, Any]:
    return SAMPLE["every_verdict_report"]()


@pytest.fixture
def large() -> dict[str, Any]:
    return SAMPLE["large_report"]()


@pytest.fixture
def empty() -> dict[str, Any]:
    return SAMPLE["report"]("empty", [])

"""The constants of the tolerance rule are those that its documentation states."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stackproof.backends.noise import FLOAT32_UNIT
from stackproof.matrix import jobs
from stackproof.matrix.judge import envelope, reference, throughput

TEXT = (Path(__file__).parents[3] / "docs" / "tolerance.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AGREEMENT", reference.AGREEMENT),
        ("NOISE_DRAWS", jobs.NOISE_DRAWS),
        ("NOISE_UNIT", jobs.NOISE_UNIT),
        ("SAFETY", envelope.SAFETY),
        ("FLOOR", envelope._FLOOR),
        ("DRIFT", envelope.DRIFT),
        ("CONFIDENCE", throughput.CONFIDENCE),
    ],
)
def test_a_constant_is_the_documented_one(name: str, value: float) -> None:
    stated = re.search(rf"^\| `{name}` \| `([0-9.e-]+)( u)?` \|", TEXT, re.MULTILINE)
    assert stated is not None
    assert float(stated[1]) * (FLOAT32_UNIT if stated[2] else 1.0) == value

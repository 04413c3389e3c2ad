"""Real, public reports: what is said of them, by the figures that the benchmark requires."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("incompatibilities", BENCHMARKS / "incompatibilities.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["incompatibilities"] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((BENCHMARKS / "cases" / "incompatibilities.json").read_text())
    return found


@pytest.mark.parametrize("feed", ["both", "json", "text"])
def test_what_works_is_never_called_incompatible(benchmark: Any, cases: list[dict[str, Any]], feed: str) -> None:
    alarms = [case["id"] for case in cases if benchmark.judge(case, feed).is_false_alarm]
    assert alarms == []


def test_verdicts_and_components_are_right_as_often_as_required(
    benchmark: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["incompatibilities.py", "--json"])
    code = benchmark.main()
    document = json.loads(capsys.readouterr().out)
    assert code == 0, document["figures"]
    assert document["required"]["verdict_right"] == {"at_least": 0.95}
    assert document["required"]["components_overlap"] == {"at_least": 0.9}
    assert document["required"]["false_alarms"] == {"at_most": 0.0}


def test_disputed_cases_are_few_and_say_why(cases: list[dict[str, Any]]) -> None:
    disputed = json.loads((BENCHMARKS / "cases" / "disputed.json").read_text())
    assert set(disputed) <= {case["id"] for case in cases}
    assert len(disputed) <= len(cases) // 20
    assert all(len(reason) > len("because it is so") for reason in disputed.values())

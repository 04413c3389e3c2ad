"""Workers that crash, hang or eat memory in a real environment: a verdict with its reason, kept under its limits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tiny import patch_backends, read_report, stored, write_matrix

from stackproof.matrix.cli.certify import exit_code
from stackproof.matrix.config import load_matrix
from stackproof.matrix.pipeline import Request, certify
from stackproof.matrix.site import Settings

if TYPE_CHECKING:
    from pathlib import Path

SERVES = "        runner.serve(commands, protocol)\n"
BEGINS = "        runner = _runner(job, evidence)\n"
FAULTS = {
    "raises": 'raise RuntimeError("the accelerator is on fire")',
    "segfaults": "import ctypes; ctypes.string_at(0)",
    "hangs": "time.sleep(5)",
    "eats": 'eaten = bytearray(b"x") * (700 * 2**20); time.sleep(20)',
    "vanishes": "os._exit(0)",
    "fills the disk": 'raise OSError(28, "No space left on device", "cache")',
}


@pytest.fixture(autouse=True)
def _cached(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKPROOF_CACHE", str(cache))


def _certify(folder: Path, fault: str, limits: str = "") -> dict[str, Any]:
    source = folder / "patched" / "backends"
    if not source.exists():
        patch_backends(folder / "patched", "worker.py", BEGINS, f"        {FAULTS[fault]}\n{BEGINS}")
    matrix = write_matrix(folder, {"jax": ["0.10.2"]}, more=limits)
    return certify(Request(load_matrix(matrix), folder / "out", settings=Settings(source=source)))


@pytest.mark.parametrize(
    ("fault", "limits", "reason", "line"),
    [
        ("raises", "", "RuntimeError: the accelerator is on fire", "RuntimeError: the accelerator is on fire"),
        ("segfaults", "", "SIGSEGV", "Fatal Python error: Segmentation fault"),
        ("eats", "[run]\nmemory_limit = 400", "above its limit of 400 MiB, and was stopped", ""),
        ("vanishes", "", "left no evidence that can be read", ""),
    ],
)
def test_failed_worker_is_broken_and_is_not_tried_again(
    fault: str, limits: str, reason: str, line: str, tmp_path: Path
) -> None:
    first = _certify(tmp_path, fault, limits)
    (cell,) = first["cells"]
    assert (cell["verdict"], cell["level"]) == ("broken", "resolved")
    assert reason in cell["reasons"][0]
    assert line in "\n".join(cell["log"] or [])
    assert exit_code(first) == 1
    assert first["totals"]["runs_made"] == 1
    rows = stored(tmp_path / "out")
    again = _certify(tmp_path, fault, limits)
    assert again["totals"]["runs_made"] == 0
    assert again["totals"]["runs_reused"] == 1
    assert (again["cells"][0]["verdict"], again["cells"][0]["reasons"]) == ("broken", cell["reasons"])
    assert again["cells"][0]["log"] == cell["log"]
    assert stored(tmp_path / "out") == rows


def test_hanging_worker_is_tried_again_under_a_higher_limit(tmp_path: Path) -> None:
    report = _certify(tmp_path, "hangs", "[run]\ntime_limit = 2")
    (cell,) = report["cells"]
    assert cell["verdict"] == "broken"
    assert "did not end within 2 s and was stopped" in cell["reasons"][0]
    assert re.search(r'File ".*worker\.py", line \d+ in main', "\n".join(cell["log"])), "the log says where it hangs"
    again = _certify(tmp_path, "hangs", "[run]\ntime_limit = 2")
    assert (again["totals"]["runs_made"], again["totals"]["runs_reused"]) == (0, 1)
    higher = _certify(tmp_path, "hangs", "[run]\ntime_limit = 120")
    assert (higher["cells"][0]["verdict"], higher["totals"]["runs_made"]) == ("certified", 1)
    assert read_report(tmp_path / "out")["cells"][0]["log"] is None


def test_worker_without_disk_says_nothing_of_its_cell(tmp_path: Path) -> None:
    report = _certify(tmp_path, "fills the disk")
    (cell,) = report["cells"]
    assert cell["verdict"] == "untested"
    assert "No space left on device" in cell["reasons"][0]
    assert exit_code(report) == 3
    again = _certify(tmp_path, "fills the disk")
    assert again["totals"]["runs_made"] == 1, "what failed outside is tried again"


def test_baseline_that_cannot_be_measured_is_not_held_against_the_other(tmp_path: Path) -> None:
    patched = patch_backends(
        tmp_path,
        "worker.py",
        SERVES,
        f'        if evidence["versions"]["jax"] == "0.9.2":\n            os._exit(5)\n{SERVES}',
    )
    matrix = load_matrix(write_matrix(tmp_path, {"jax": ["0.9.2", "0.10.2"]}))
    report = certify(Request(matrix, tmp_path / "out", settings=Settings(source=patched)))
    baseline, candidate = report["cells"]
    assert baseline["verdict"] == "broken"
    assert "ended with status 5" in baseline["reasons"][0]
    assert candidate["verdict"] == "certified"
    assert candidate["throughput"] is None

"""A matrix with a stack that cannot work, by the command line: it is not tried, and the others are certified."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from command_line import no_network
from tiny import eager, read_report, write_matrix

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import CommandLine

# Wheels of TensorFlow 2.15 are for Python 3.9 to 3.11.
IMPOSSIBLE = '[[include]]\ntensorflow = "2.15.0"\npython = "3.13"\n'
CELL = "tensorflow2.15.0-py313-mlp"
MESSAGE = "tensorflow 2.15.0 has no wheel for Python 3.13"


def test_an_impossible_cell_is_planned_as_pruned_and_certified_as_incompatible(
    command: CommandLine, tmp_path: Path
) -> None:
    matrix, out = write_matrix(tmp_path, {"jax": ["0.10.2"]}, eager(), IMPOSSIBLE), tmp_path / "out"
    planned = command.run("plan", matrix, "--out", out, "--json")
    assert planned.code == 0, planned.err
    possible, pruned = planned.json["cells"]
    assert (possible["run"], possible["pruned"]) == ("to be made", None)
    assert (pruned["lock"], pruned["run"], pruned["pruned"]["code"]) == ("pruned", "pruned", "SP601")
    assert planned.json["totals"]["pruned"] == 1
    ended = command.run("certify", matrix, "--out", out, "--verbose")
    assert ended.code == 1, ended.err
    certified, ruled_out = read_report(out)["cells"]
    assert (certified["verdict"], certified["findings"]) == ("certified", [])
    assert (ruled_out["id"], ruled_out["verdict"], ruled_out["level"]) == (CELL, "incompatible", "declared")
    assert ruled_out["findings"][0]["code"] == "SP601"
    assert "Python 3.11" in ruled_out["findings"][0]["fix"]
    assert f"check      tensorflow2.15.0-py313: failed: SP601: {MESSAGE}" in ended.err
    assert not any(line.startswith("resolve") and "tensorflow" in line for line in _stages(ended.err))
    _everything_says_so(out, ended.out)
    shown = command.run("explain", "SP601")
    assert shown.code == 0, shown.err


def test_where_nothing_can_work_there_is_a_report_and_nothing_is_asked_of_the_network(
    command: CommandLine, tmp_path: Path
) -> None:
    matrix = write_matrix(tmp_path, {"tensorflow": ["2.15.0"], "python": ["3.13"]}, eager())
    ended = command.run("certify", matrix, "--out", tmp_path / "out", "--json", **no_network(tmp_path))
    assert ended.code == 1, ended.err
    assert ended.json["totals"]["incompatible"] == ended.json["totals"]["cells"] == 1
    assert read_report(tmp_path / "out") == ended.json
    again = command.run("report", tmp_path / "out")
    assert again.code == 1, again.err
    assert MESSAGE in again.out


def _everything_says_so(out: Path, shown: str) -> None:
    certificate: dict[str, Any] = json.loads((out / "certificates" / f"{CELL}.json").read_bytes())
    assert (certificate["verdict"], certificate["findings"][0]["code"]) == ("incompatible", "SP601")
    assert not (out / "locks" / f"{CELL}.json").exists()
    for text in (shown, (out / "report.md").read_text(), (out / "report.html").read_text()):
        assert f"SP601: {MESSAGE}" in text
        assert "stackproof explain SP601" in text
    root = ET.fromstring((out / "junit.xml").read_bytes())  # noqa: S314 - our own
    (failure,) = root.iter("failure")
    assert failure.attrib["message"].startswith(f"SP601: {MESSAGE}")


def _stages(said: str) -> list[str]:
    return [line.partition("] ")[2] for line in said.splitlines()]

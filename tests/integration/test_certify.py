"""A matrix taken all the way by the command line, again, beside another run, and with cells that cannot be made."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from command_line import dead_index, no_network
from tiny import THREE, comparable, eager, read_report, stored, write_matrix

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import CommandLine
    from conftest import Certified

CHECKS = ["trajectory", "reference", "determinism", "versions", "throughput"]
REPORTS = {"report.json", "report.html", "report.md", "junit.xml"}


def test_every_cell_goes_all_the_way(certified: Certified) -> None:
    assert certified.ended.code == 0, certified.ended.err
    report, folder = certified.report, certified.folder
    cells = {cell["id"]: cell for cell in report["cells"]}
    assert list(cells) == [f"jax{version}-py{_python(report)}-mlp" for version in ("0.9.2", "0.10.2")]
    assert [(cell["verdict"], cell["level"], cell["baseline"]) for cell in cells.values()] == [
        ("certified", "trained-cpu", True),
        ("certified", "trained-cpu", False),
    ]
    for cell in cells.values():
        assert [check["name"] for check in cell["checks"]] == CHECKS
        assert {check["outcome"] for check in cell["checks"][:4]} == {"pass"}
        assert cell["packages"]["jax"] == cell["stack"]["version"]
        assert len(cell["curves"]["loss"]) == 6
    old, new = cells.values()
    assert old["throughput"] is None
    assert new["throughput"]["baseline"] == old["id"]
    assert len(new["throughput"]["rounds"]) == 3
    assert REPORTS | {"certificates", "locks", "evidence"} <= {path.name for path in folder.iterdir()}


def test_certificates_and_locks_say_what_was_shown(certified: Certified) -> None:
    assert {path.stem for path in (certified.folder / "certificates").iterdir()} == {
        cell["id"] for cell in certified.report["cells"]
    }
    for cell in certified.report["cells"]:
        certificate = json.loads((certified.folder / "certificates" / f"{cell['id']}.json").read_bytes())
        lock = json.loads((certified.folder / "locks" / f"{cell['id']}.json").read_bytes())
        assert certificate["verdict"] == "certified"
        assert certificate["lock_digest"] == cell["lock_digest"] == lock["digest"]
        assert len(certificate["evidence"]) == 2
        for digest in certificate["evidence"]:
            assert (certified.folder / "evidence" / f"{digest}.json").exists()
        text = (certified.folder / "locks" / f"{cell['id']}.txt").read_text()
        assert f"jax=={cell['stack']['version']}" in text
        assert text.count("--hash=sha256:") >= len(lock["packages"])


def test_junit_can_be_read(certified: Certified) -> None:
    root = ET.fromstring((certified.folder / "junit.xml").read_bytes())  # noqa: S314 - our own
    cases = [case.attrib["name"] for case in root.iter("testcase")]
    assert cases == [f"{check}[{cell['id']}]" for cell in certified.report["cells"] for check in CHECKS]
    assert (root.attrib["failures"], root.attrib["errors"], root.attrib["tests"]) == ("0", "0", "10")


def test_three_frameworks_agree(command: CommandLine, tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path, THREE, eager())
    ended = command.run("certify", matrix, "--out", tmp_path / "out", "--json")
    assert ended.code == 0, ended.err
    reference = ended.json["specs"][0]["reference"]
    assert reference["frameworks"] == ["jax", "tensorflow", "torch"]
    assert reference["agreement"] <= 1e-9
    assert [cell["verdict"] for cell in ended.json["cells"]] == ["certified"] * 3
    assert [cell["mode"] for cell in ended.json["cells"]] == ["eager"] * 3
    for cell in ended.json["cells"]:
        checks = {check["name"]: check for check in cell["checks"]}
        assert list(checks) == CHECKS
        assert checks["reference"]["measured"] <= 1e-9


def test_nothing_changed_means_nothing_is_done(copied: Certified, command: CommandLine, tmp_path: Path) -> None:
    before = stored(copied.folder)
    nothing_there = no_network(tmp_path)
    ended = command.run("certify", copied.matrix, "--out", copied.folder, "--verbose", **nothing_there)
    assert ended.code == 0, ended.err
    totals = read_report(copied.folder)["totals"]
    assert (totals["runs_made"], totals["runs_reused"], totals["certified"]) == (0, 2, 2)
    assert "0 runs made, 2 reused" in ended.out
    assert stored(copied.folder) == before
    assert comparable(read_report(copied.folder)) == comparable(read_report(copied.matrix.parent / "out"))
    # No worker and no uv can have run: there was neither an environment nor a place to get one from.
    assert not (tmp_path / "empty-cache").exists()
    assert not (tmp_path / "empty-uv").exists()
    for stage in ("resolve", "run", "measure"):
        assert f"{stage:<10} jax0.10.2" in ended.err
    assert ended.err.count("nothing changed, reused") == 5


def test_another_index_is_another_question(copied: Certified, command: CommandLine, tmp_path: Path) -> None:
    """An index is part of what a lock is made from: a lock found under one says nothing of what another gives."""
    ended = command.run("certify", copied.matrix, "--out", copied.folder, **dead_index(tmp_path))
    assert ended.code == 3
    assert read_report(copied.folder)["totals"]["untested"] == 2
    # What was shown before is kept, and holds again under the index that it was shown with.
    again = command.run("certify", copied.matrix, "--out", copied.folder)
    assert again.code == 0, again.err
    assert comparable(read_report(copied.folder)) == comparable(read_report(copied.matrix.parent / "out"))


def test_cells_that_cannot_be_made_are_broken_and_harm_no_other(
    copied: Certified, command: CommandLine, tmp_path: Path
) -> None:
    axes = {"jax": ["0.9.2", "0.10.2", "99.0.0"], "tensorflow-cpu": ["2.5.0"]}
    # Without pruning, so that the resolver is asked about what the rules would rule out.
    matrix = write_matrix(tmp_path / "wider", axes, more="[run]\nprune = false\n")
    ended = command.run("certify", matrix, "--out", copied.folder, "--json")
    assert ended.code == 1
    old, new, missing, wheels = ended.json["cells"]
    assert [old["verdict"], new["verdict"]] == ["certified"] * 2
    assert ended.json["totals"]["runs_made"] == 0
    assert (missing["verdict"], missing["level"]) == ("broken", "declared")
    assert "there is no version of jax==99.0.0" in _told(missing)
    assert (wheels["verdict"], wheels["level"]) == ("broken", "declared")
    assert "tensorflow-cpu==2.5.0 has no wheels with a matching Python" in _told(wheels)
    root = ET.fromstring((copied.folder / "junit.xml").read_bytes())  # noqa: S314 - our own
    assert root.attrib["errors"] == "2"


def test_second_run_on_a_folder_is_refused_and_the_first_goes_on(command: CommandLine, tmp_path: Path) -> None:
    matrix, out = write_matrix(tmp_path, {"jax": ["0.10.2"]}), tmp_path / "out"
    first = command.start("certify", matrix, "--out", out, "--verbose")
    first.wait_for("run        jax0.10.2")
    second = command.run("certify", matrix, "--out", out)
    assert second.code == 3
    assert f"process {first.process.pid}" in second.err
    assert str(out) in second.err
    assert "Traceback" not in second.err
    assert not (out / "report.json").exists()
    ended = first.end()
    assert ended.code == 0, ended.err
    assert read_report(out)["totals"]["certified"] == 1
    assert first.left(0) == []


def test_one_cell_alone_leaves_the_others_as_they_are(copied: Certified, command: CommandLine) -> None:
    ended = command.run("certify", copied.matrix, "--out", copied.folder, "--cell", "jax0.9*", "--json")
    assert ended.code == 0, ended.err
    assert [cell["stack"]["version"] for cell in ended.json["cells"]] == ["0.9.2"]
    assert len(list((copied.folder / "certificates").iterdir())) == 2


def test_evidence_that_was_tampered_with_is_noticed(copied: Certified, command: CommandLine) -> None:
    digest = copied.report["cells"][0]["evidence"][0]
    document = copied.folder / "evidence" / f"{digest}.json"
    document.write_bytes(document.read_bytes().replace(b'"exit', b'"exi7').replace(b"float32", b"float64"))
    ended = command.run("certify", copied.matrix, "--out", copied.folder)
    assert ended.code == 3
    assert digest in ended.err
    assert "Traceback" not in ended.err


def test_moved_output_folder_is_reused(copied: Certified, command: CommandLine, tmp_path: Path) -> None:
    shutil.move(copied.folder, tmp_path / "elsewhere")
    ended = command.run("certify", copied.matrix, "--out", tmp_path / "elsewhere", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["totals"]["runs_made"] == 0


def _told(cell: dict[str, Any]) -> str:
    return "\n".join([*cell["reasons"], *(cell["log"] or [])])


def _python(report: dict[str, Any]) -> str:
    major, minor, _ = report["machine"]["python"].split(".")
    return f"{major}{minor}"

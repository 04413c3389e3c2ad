"""The command line: words, exit codes, what goes where, and what it costs to start."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from numpy_fleet import Fleet, make_source

from stackproof import __version__
from stackproof.compat.errors import (
    BusyError,
    Fault,
    InputError,
    OutsideError,
    StackproofError,
    StoppedError,
    UnsolvableError,
    UnsupportedError,
)
from stackproof.compat.verdict import VERDICTS
from stackproof.matrix import cli
from stackproof.matrix.cli import certify as certify_command
from stackproof.matrix.cli import plan as plan_command
from stackproof.matrix.cli.certify import exit_code
from stackproof.matrix.config import load_matrix
from stackproof.matrix.site import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMANDS = ("certify", "plan", "check", "doctor", "explain", "facts", "train", "compare", "report")
SPEC = """
[model]
kind = "mlp"
inputs = 3
hidden = []
outputs = 2
[data]
batch = 2
[optimizer]
lr = 0.25
[train]
steps = 4
"""
MATRIX = """
specs = ["tiny.toml"]
[axes]
torch = ["1.0", "2.0"]
[run]
prune = false
device = "cpu"
[throughput]
rounds = 6
seconds = 0.001
minimum_ratio = 0.01
"""


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """Keep the test process' own answer to SIGTERM."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(SPEC, encoding="utf-8")
    path = tmp_path / "fleet.toml"
    path.write_text(MATRIX, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch, source: Path, tmp_path: Path) -> Fleet:
    monkeypatch.setattr(certify_command, "Settings", partial(Settings, source=source))
    return Fleet(monkeypatch, source, tmp_path / "out")


def command(*words: object, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    line = [sys.executable, "-m", "stackproof", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, **settings)


# Words


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["certfy"], "invalid choice: 'certfy'"),
        (["certify"], "the following arguments are required: MATRIX.toml"),
        (["certify", "a.toml", "b.toml"], "unrecognized arguments: b.toml"),
        (["certify", "a.toml", "--jobs", "0"], "argument --jobs: '0' is no whole number of at least 1"),
        (["certify", "a.toml", "--jobs", "many"], "argument --jobs: 'many' is no whole number of at least 1"),
        # No abbreviations: an option added later must not change what this means.
        (["certify", "a.toml", "--resu"], "unrecognized arguments: --resu"),
        (["train", "a.toml"], "the following arguments are required: --backend"),
        (["train", "a.toml", "--backend", "jax", "--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
        (["report"], "the following arguments are required: DIR"),
    ],
)
def test_wrong_words_are_usage_errors(capsys: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err
    assert said.err.startswith("usage: stackproof")


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)])
def test_help_names_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([*words, "--help"])
    assert caught.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    for option in ("--json", "--quiet", "--verbose", "--debug") if words else COMMANDS:
        assert option in said
    assert "exit codes: 0 holds; 1 the answer is no" in said


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"stackproof {__version__}\n"


# Starting


def test_help_loads_nothing_heavy() -> None:
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "stackproof", "--help"], capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.splitlines()}
    assert "argparse" in loaded
    assert not loaded & {"numpy", "rich", "jinja2", "packaging", "platformdirs", "uv", "sqlite3", "tomllib"}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["certify", "--help"]])
def test_help_comes_at_once(words: list[str]) -> None:
    def seconds(*line: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, *line], capture_output=True, check=True)
        return time.perf_counter() - start

    # The best of several: what else the machine does is no part of the cost.
    assert min(seconds("-m", "stackproof", *words) for _ in range(7)) < 0.3


def test_the_command_is_installed() -> None:
    path = shutil.which("stackproof", path=sysconfig.get_path("scripts"))
    assert path is not None
    ran = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"stackproof {__version__}\n"


# Errors


def test_bad_input_names_the_file_the_key_and_the_mend(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix.write_text(MATRIX.replace("device", "devise"), encoding="utf-8")
    assert cli.main(["plan", str(matrix)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"stackproof: {matrix}: run.devise: unknown key; did you mean 'device'?\n"


ERRORS = [
    (InputError("fleet.toml", [Fault("axes", "is empty")]), 2, "stackproof: fleet.toml: axes: is empty\n"),
    (UnsupportedError("no rule for Conv"), 2, "stackproof: no rule for Conv\n"),
    (UnsolvableError("no such version\nname another"), 1, "stackproof: no such version\n  name another\n"),
    (OutsideError("no network"), 3, "stackproof: no network\n"),
    (BusyError("in use"), 3, "stackproof: in use\n"),
    (StackproofError("something"), 3, "stackproof: something\n"),
    (StoppedError("stopped"), 4, "stackproof: stopped\n"),
    (
        KeyError("loss"),
        3,
        "stackproof: this is a fault of stackproof itself: KeyError: 'loss'\n  --debug shows where\n",
    ),
    (
        KeyboardInterrupt(),
        4,
        "stackproof: interrupted; what was finished is kept, and certify --resume goes on from there\n",
    ),
    (StackproofError(""), 3, "stackproof: \n"),
]


@pytest.mark.parametrize(("error", "code", "says"), ERRORS, ids=lambda value: type(value).__name__)
def test_every_error_has_its_exit_code_and_no_trace(
    monkeypatch: pytest.MonkeyPatch,
    matrix: Path,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    says: str,
) -> None:
    def fail(_request: object) -> None:
        raise error

    monkeypatch.setattr(certify_command, "certify", fail)
    assert cli.main(["certify", str(matrix), "--json"]) == code
    assert capsys.readouterr() == ("", says)
    assert cli.main(["certify", str(matrix), "--debug"]) == code
    debugged = capsys.readouterr().err
    assert "Traceback (most recent call last)" in debugged
    assert debugged.endswith(says)


def test_an_interrupted_plan_promises_nothing_to_go_on_with(
    monkeypatch: pytest.MonkeyPatch, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr(plan_command, "plan", interrupt)
    assert cli.main(["plan", str(matrix)]) == 4
    assert capsys.readouterr().err == "stackproof: interrupted\n"


# Exit codes of certify


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ({"certified": 3}, 0),
        ({"certified": 3, "drifted": 1}, 0),
        ({"drifted": 1}, 0),
        ({"certified": 3, "untested": 1}, 3),
        *(({"certified": 3, verdict: 1}, 1) for verdict in ("incorrect", "regressed", "broken", "incompatible")),
        *(({"untested": 3, verdict: 1}, 1) for verdict in ("incorrect", "regressed", "broken", "incompatible")),
    ],
)
def test_the_gravest_verdict_is_the_exit_code(verdicts: dict[str, int], code: int) -> None:
    assert exit_code({"totals": {**dict.fromkeys(VERDICTS, 0), **verdicts}}) == code


# What goes where


def test_json_is_one_document_and_progress_goes_elsewhere(
    fleet: Fleet, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["certify", str(matrix), "--out", str(fleet.folder), "--json"]) == 0
    said = capsys.readouterr()
    report = json.loads(said.out)
    assert next(iter(report)) == "schema_version"
    assert said.out == (fleet.folder / "report.json").read_text(encoding="utf-8")
    assert re.fullmatch(r"(\[\d+/\d+] (resolve|build|run|measure) +\S+: .*\n)+", said.err)
    assert said.err.splitlines()[-1].startswith("[7/7] measure")
    assert "[8/8]" not in said.out


def test_people_get_verdicts_and_where_the_files_are(
    fleet: Fleet, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["certify", str(matrix), "--out", str(fleet.folder), "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "\x1b" not in said.out
    assert said.out.count("certified ") >= 2
    for name in ("report.html", "report.md", "report.json", "junit.xml", "certificates", "locks"):
        assert str(fleet.folder / name) in said.out


def test_a_cell_that_is_broken_makes_the_answer_no(
    fleet: Fleet, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.unresolvable = {"2.0"}
    assert cli.main(["certify", str(matrix), "--out", str(fleet.folder)]) == 1
    assert "there is no such version" in capsys.readouterr().out


def test_a_cell_that_could_not_be_tried_is_no_answer(
    fleet: Fleet, matrix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.unbuildable = {"torch2.0"}
    assert cli.main(["certify", str(matrix), "--out", str(fleet.folder), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["totals"]["untested"] == 1


def test_the_output_folder_is_named_after_the_matrix(
    fleet: Fleet, matrix: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del fleet
    monkeypatch.chdir(tmp_path)
    assert cli.main(["certify", str(matrix), "--quiet"]) == 0
    assert (tmp_path / "stackproof-out" / "fleet" / "report.json").is_file()


def test_a_plan_as_json(matrix: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["plan", str(matrix), "--out", str(tmp_path / "out"), "--json"]) == 0
    said = capsys.readouterr()
    assert (json.loads(said.out)["totals"]["cells"], said.err) == (2, "")


# The report again


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory, source: Path) -> Path:
    folder = tmp_path_factory.mktemp("certified")
    (folder / "tiny.toml").write_text(SPEC, encoding="utf-8")
    (folder / "fleet.toml").write_text(MATRIX, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        Fleet(patched, source, folder / "out").certify(load_matrix(folder / "fleet.toml"))
    return folder / "out"


def report_of(certified: Path) -> dict[str, Any]:
    written: dict[str, Any] = json.loads((certified / "report.json").read_text(encoding="utf-8"))
    return written


def test_a_report_is_written_again_from_its_json(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report.json").write_bytes((certified / "report.json").read_bytes())
    assert cli.main(["report", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == report_of(certified)
    for name in ("report.json", "report.html", "report.md", "junit.xml"):
        assert (tmp_path / name).read_bytes() == (certified / name).read_bytes()


@pytest.mark.parametrize(("verdict", "code"), [("broken", 1), ("untested", 3), ("drifted", 0)])
def test_a_reports_exit_code_is_that_of_certify(certified: Path, tmp_path: Path, verdict: str, code: int) -> None:
    report = report_of(certified)
    report["cells"][0]["verdict"] = verdict
    report["totals"].update({"certified": 1, verdict: 1})
    (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    assert cli.main(["report", str(tmp_path), "--quiet"]) == code


def test_a_folder_without_a_report_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert cli.main(["report", str(folder)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"stackproof: {folder}: has no report.json: certify leaves one")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"schema_version": 1, "cells": ['])
def test_a_broken_report_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    (tmp_path / "report.json").write_bytes(content)
    assert cli.main(["report", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"stackproof: {tmp_path / 'report.json'}: cannot be read as JSON: ")
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize("content", [[], 1, "report", {}, {"schema_version": 2, "cells": []}, {"cells": []}])
def test_a_report_of_another_version_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object
) -> None:
    (tmp_path / "report.json").write_text(json.dumps(content), encoding="utf-8")
    assert cli.main(["report", str(tmp_path)]) == 2
    assert "is no report that this version reads" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "where"),
    [
        (lambda report: report.pop("totals"), "totals"),
        (lambda report: report.update(cells={}), "cells"),
        (lambda report: report["cells"].insert(0, None), "cells[0]"),
        (lambda report: report["cells"][1].pop("checks"), "cells[1].checks"),
        (lambda report: report["cells"][1].update(verdict="perfect"), "cells[1].verdict"),
        (lambda report: report["specs"][0].pop("digest"), "specs[0].digest"),
        (lambda report: report["totals"].pop("broken"), "totals.broken"),
        (lambda report: report.update(totals=[]), "totals"),
    ],
)
def test_a_report_that_lacks_something_is_refused(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Any, where: str
) -> None:
    report = report_of(certified)
    damage(report)
    (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    assert cli.main(["report", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"stackproof: {tmp_path / 'report.json'}: {where}: is missing or of another kind; certify writes the report "
        "anew\n"
    )


# Streams


def test_a_reader_that_goes_away_is_no_error(certified: Path) -> None:
    line = [sys.executable, "-m", "stackproof", "report", str(certified), "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.wait(60) == 0
        assert child.stderr.read() == b""


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_stream_that_was_never_there_changes_no_exit_code(certified: Path, closed: str) -> None:
    for line, code in (([str(certified)], 0), (["nowhere"], 2)):
        shell = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "stackproof", "report", *line]
        ran = subprocess.run(shell, capture_output=True, text=True, check=False)
        assert ran.returncode == code
        assert "fault of stackproof" not in ran.stderr


@pytest.mark.parametrize("colour", [True, False])
def test_colours_are_for_terminals_and_only_where_they_are_wanted(certified: Path, *, colour: bool) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    variables.update({"TERM": "xterm-256color", "LANG": "C.UTF-8"}, **({} if colour else {"NO_COLOR": "1"}))
    ours, theirs = os.openpty()
    line = [sys.executable, "-m", "stackproof", "report", str(certified)]
    with subprocess.Popen(line, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=variables) as child:
        os.close(theirs)
        written = b"".join(iter(lambda: _read(ours), b""))
        assert child.wait(60) == 0
    os.close(ours)
    assert b"certified" in written
    assert (re.search(rb"\x1b\[[0-9;]*m", written) is not None) is colour


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end was closed
        return b""


def test_no_colours_in_a_pipe(certified: Path) -> None:
    ran = command("report", certified)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "\x1b" not in ran.stdout


def test_an_output_that_knows_ascii_only_still_gets_the_report(certified: Path) -> None:
    ran = command("report", certified, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "certified" in ran.stdout

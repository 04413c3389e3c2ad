from __future__ import annotations

import io
import os
import pty
import re
import sys
from pathlib import Path
from typing import IO, Any

import pytest
from rich.cells import cell_len

from stackproof.matrix.report.terminal import render_terminal, show_report

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def show_on_terminal(report: dict[str, Any]) -> str:
    """Return what a real pseudo-terminal gets."""
    reader, writer = pty.openpty()
    with open(writer, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor
        show_report(report, [], stream)
        stream.flush()
        os.set_blocking(reader, False)
        got = b""
        while chunk := _read(reader):
            got += chunk
    os.close(reader)
    return got.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except (BlockingIOError, OSError):
        return b""


def two_cells(report: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    """Return a report short enough for a pseudo-terminal's buffer."""
    sample["mark_incorrect"](report["cells"][2])
    return sample["report"]("two", report["cells"][2:4])


def test_without_a_terminal_one_plain_line_per_cell(every_verdict: dict[str, Any]) -> None:
    stream = io.StringIO()
    show_report(every_verdict, [Path("out/report.html")], stream)
    lines = stream.getvalue().splitlines()
    for cell in every_verdict["cells"][:11]:
        line = next(line for line in lines if f" {cell['id']} " in line)
        assert line.startswith(cell["verdict"])
        assert cell["level"] in line
        assert not cell["reasons"] or cell["reasons"][0] in line
    assert "\x1b" not in stream.getvalue()
    assert lines[-1] == "out/report.html"


def test_plain_line_has_ratio_and_interval(certified: dict[str, Any]) -> None:
    cell = next(cell for cell in certified["cells"] if cell["throughput"])
    speed = cell["throughput"]
    expected = f"{speed['ratio']:.2f}\N{MULTIPLICATION SIGN} [{speed['low']:.2f}, {speed['high']:.2f}]"
    line = next(line for line in render_terminal(certified).splitlines() if cell["id"] in line)
    assert expected in line


def test_reasons_and_logs_of_every_cell_that_is_not_certified(every_verdict: dict[str, Any]) -> None:
    text = render_terminal(every_verdict, width=200)
    assert "every later step is outside as well" in text
    assert "| ImportError: libcudart.so.13: cannot open shared object file" in text
    assert "1 of 12 cells is incorrect, 2 are broken, 4 more are not certified" in text
    assert "5 certified, 1 drifted, 1 regressed, 1 incorrect, 2 broken, 1 incompatible, 1 untested; 24 runs" in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 150, 200])
def test_no_line_is_wider_than_the_terminal(every_verdict: dict[str, Any], width: int) -> None:
    lines = render_terminal(every_verdict, width=width).splitlines()
    assert max(cell_len(line) for line in lines) <= width


def test_wide_terminals_show_each_check_narrower_ones_their_marks(certified: dict[str, Any]) -> None:
    wide = render_terminal(certified, width=160).splitlines()
    assert wide[0].split() == [
        "cell", "verdict", "level", "trajectory", "reference", "determinism", "versions", "throughput", "ratio",
    ]  # fmt: skip
    medium = render_terminal(certified, width=100)
    assert "\N{CHECK MARK}" * 4 + "\N{EN DASH}" in medium
    assert "checks in this order: trajectory, reference, determinism, versions, throughput" in medium
    assert "  trained-cpu  baseline" in render_terminal(certified, width=60)


def test_colours_only_add_to_the_words(certified: dict[str, Any]) -> None:
    coloured = render_terminal(certified, width=160, colour=True)
    assert ANSI.search(coloured)
    assert ANSI.sub("", coloured) == render_terminal(certified, width=160)


def test_terminal_gets_colours_unless_no_color(
    certified: dict[str, Any], sample: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = two_cells(certified, sample)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in show_on_terminal(report)
    monkeypatch.setenv("NO_COLOR", "1")
    shown = show_on_terminal(report)
    assert "\x1b" not in shown
    assert "verdict" in shown.splitlines()[0]


def test_escape_sequences_of_a_log_do_not_reach_the_terminal(every_verdict: dict[str, Any]) -> None:
    assert not [letter for letter in render_terminal(every_verdict) if ord(letter) < 32 and letter != "\n"]


def test_stream_without_unicode_gets_ascii(every_verdict: dict[str, Any]) -> None:
    raw = io.BytesIO()
    stream: IO[str] = io.TextIOWrapper(raw, encoding="ascii")
    show_report(every_verdict, [], stream)
    stream.flush()
    assert b"1.07x [1.05, 1.09]" in raw.getvalue()


def test_matrix_without_cells(empty: dict[str, Any]) -> None:
    for width in (None, 20, 80, 200):
        assert "0 of 0 cells certified" in render_terminal(empty, width=width).replace("\n", " ").replace("  ", " ")


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    import subprocess  # noqa: PLC0415 - this test alone

    script = (
        "import sys, stackproof.matrix.report.terminal, stackproof.matrix.report.write\n"
        "sys.exit(' '.join({'rich', 'jinja2', 'markupsafe'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""

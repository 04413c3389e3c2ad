"""`stackproof certify`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..config import load_matrix
from ..pipeline import Request, certify
from ..progress import choose_reporter
from ..report.terminal import show_report
from ..report.write import render_json
from ..site import Settings
from .output import standard_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from ..config import Matrix

_FILES: Final = ("report.html", "report.md", "report.json", "junit.xml", "certificates", "locks")
_NO: Final = ("incorrect", "regressed", "broken", "incompatible")


def run(options: argparse.Namespace) -> int:
    """Certify a matrix and show its report."""
    matrix = load_matrix(options.matrix)
    folder = output_folder(options, matrix)
    reporter = choose_reporter(quiet=options.quiet, verbose=options.verbose)
    settings = Settings(fresh=options.fresh, jobs=options.jobs, reporter=reporter, engine=options.engine)
    report = certify(Request(matrix, folder, options.cell, options.resume, settings))
    show(report, folder, as_json=options.json)
    return exit_code(report)


def output_folder(options: argparse.Namespace, matrix: Matrix) -> Path:
    """Return the folder that a matrix is certified in."""
    given: Path | None = options.out
    return given if given is not None else Path("stackproof-out") / matrix.name


def show(report: Mapping[str, Any], folder: Path, *, as_json: bool) -> None:
    """Print a report for people, or as JSON."""
    files = [folder / name for name in _FILES if (folder / name).exists()]
    with standard_output() as stream:
        if as_json:
            stream.write(render_json(report))
        else:
            show_report(report, files, stream)


def exit_code(report: Mapping[str, Any]) -> int:
    """Return what a report means for a script: 1 where a cell failed, 3 where one could not be tried, else 0."""
    totals = report["totals"]
    if any(totals[verdict] for verdict in _NO):
        return 1
    return 3 if totals["untested"] else 0

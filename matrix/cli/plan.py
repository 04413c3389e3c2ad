"""`stackproof plan`: what certify would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..config import load_matrix
from ..planning import plan
from ..report.plan import show_plan
from ..report.write import render_json
from .certify import output_folder
from .output import standard_output

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Show the plan of a matrix."""
    matrix = load_matrix(options.matrix)
    found = plan(matrix, output_folder(options, matrix), options.cell, options.engine)
    with standard_output() as stream:
        if options.json:
            stream.write(render_json(found))
        else:
            show_plan(found, stream)
    return 0

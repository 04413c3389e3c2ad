"""`stackproof plan`: what certify would do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..config import load_matrix
from ..planning import plan
from ..report.plan import show_plan
from ..report.write import render_json
from .certify import output_folder

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Show the plan of a matrix."""
    matrix = load_matrix(options.matrix)
    found = plan(matrix, output_folder(options, matrix), options.cell)
    if options.json:
        sys.stdout.write(render_json(found))
    else:
        show_plan(found, sys.stdout)
    return 0

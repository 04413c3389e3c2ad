"""`stackproof compare`: one spec on several frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..comparison import compare
from ..progress import choose_reporter
from ..report.comparison import show_comparison
from ..report.write import render_json
from ..site import Settings
from ..spec_file import load_spec
from .output import standard_output

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Compare frameworks and show how far they agree."""
    spec = load_spec(options.spec, options.settings)
    names = [name.strip() for name in options.backends.split(",") if name.strip()]
    reporter = choose_reporter(quiet=options.quiet, verbose=options.verbose)
    found: dict[str, Any] = compare(spec, names, Settings(fresh=options.fresh, reporter=reporter))
    with standard_output() as stream:
        if options.json:
            stream.write(render_json(found))
        else:
            show_comparison(found, stream)
    return {"agree": 0, "disagree": 1}.get(found["verdict"], 3)

"""`stackproof train`: one spec on one framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..going_on import Checkpoints
from ..progress import choose_reporter
from ..report.training import show_training
from ..report.write import render_json
from ..site import Settings
from ..spec_file import load_spec
from ..training import Run, train
from .output import standard_output

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Train a spec and show its trajectory."""
    spec = load_spec(options.spec, options.settings)
    asked = Run(
        spec,
        options.backend,
        options.env,
        options.device,
        options.threads,
        options.engine,
        weights=options.weights,
        names=options.names,
        keep=options.out,
        checkpoints=Checkpoints(options.checkpoint, options.every, options.resume),
    )
    reporter = choose_reporter(quiet=options.quiet, verbose=options.verbose)
    made = train(asked, Settings(reporter=reporter))
    with standard_output() as stream:
        if options.json:
            stream.write(render_json(made))
        else:
            show_training(made, stream)
            if options.out is not None:
                stream.write(f"  {'kept in':<21}{options.out}\n")
    return 0

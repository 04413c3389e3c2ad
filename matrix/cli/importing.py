"""`stackproof import`: an ONNX model, and what was understood of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...backends.program import dump
from ..importing.describe import describe
from ..importing.prepare import Wishes, import_model
from ..report.importing import show_import
from ..report.write import render_json
from ..store import outside, replace_file
from .output import standard_output

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Import a model, show it, and write its program where that is asked for."""
    wishes = Wishes(
        shapes=dict(options.shape),
        batch=options.batch,
        bounds=dict(options.bound),
        loss=options.loss,
        output=options.output,
        train=tuple(options.train),
        freeze=tuple(options.freeze),
        training=options.training,
        allow_not_finite=options.allow_not_finite,
    )
    made = import_model(options.model, wishes)
    if options.out is not None:
        with outside(options.out.parent):
            replace_file(options.out, dump(made.program))
    tables = describe(made, str(options.model))
    with standard_output() as stream:
        if options.json:
            stream.write(render_json(tables))
        else:
            show_import(tables, stream)
    return 0

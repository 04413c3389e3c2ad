"""`stackproof import`: an ONNX model, and what was understood of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import load

from ...backends.program import dump
from ..importing.describe import describe
from ..importing.loading import tensors
from ..importing.prepare import Wishes, import_model
from ..outputs import check_outputs, write_output
from ..report.importing import show_import
from ..report.write import render_json
from .output import standard_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path


def run(options: argparse.Namespace) -> int:
    """Import a model, show it, and write its program where that is asked for.

    Raises:
        InputError: The model cannot be imported, or the program's place is no file to write.
    """
    outputs = {"--out": options.out}
    check_outputs("import", outputs, [options.model])
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
        check_outputs("import", outputs, _beside(options.model))
        write_output(options.out, dump(made.program))
    tables = describe(made, str(options.model))
    with standard_output() as stream:
        if options.json:
            stream.write(render_json(tables))
        else:
            show_import(tables, stream)
    return 0


def _beside(path: Path) -> Iterator[Path]:
    """Yield the files in which a sound model keeps its large tensors."""
    entries = (entry for tensor in tensors(load(path, load_external_data=False)) for entry in tensor.external_data)
    yield from {path.parent / entry.value for entry in entries if entry.key == "location"}

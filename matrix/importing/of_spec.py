"""The model file of a spec: where it lies, whether it is the one that is meant, and its program."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...backends.errors import Fault, InputError
from ...backends.seeded_dropout import is_step
from ...backends.spec import Onnx
from .loading import file_digest
from .loss import OWN
from .prepare import Imported, Wishes, import_model

if TYPE_CHECKING:
    from ...backends.program import Program
    from ...backends.spec import Spec


def with_file(spec: Spec, path: Path) -> Spec:
    """Return a spec that knows its model's file by its content.

    Args:
        spec: A spec whose model is from a file.
        path: The spec file, which the model's path is relative to.

    Raises:
        InputError: There is no such file, or it is another one than the spec's `digest` says.
    """
    model = _model(spec)
    found = file_digest(path.parent / model.onnx)
    if model.digest and model.digest != found:
        what = f"{model.onnx} has the SHA-256 {found}: it is another file now; write this digest, or remove the key"
        raise InputError(str(path), [Fault("model.digest", what)])
    return replace(spec, model=replace(model, digest=found), folder=str(path.parent))


def import_spec(spec: Spec) -> Imported:
    """Import the model of a spec.

    Raises:
        InputError: The model cannot be trained as the spec asks.
    """
    model = _model(spec)
    path = Path(spec.folder) / model.onnx
    wishes = Wishes(
        shapes=model.shapes,
        batch=spec.data.batch,
        bounds=model.bounds,
        loss=spec.train.loss,
        numbers=spec.train,
        output=model.output,
        train=model.train,
        freeze=model.freeze,
        training=model.training,
    )
    made = import_model(path, wishes)
    faults = _faults_of_inputs(made.program, spec)
    if faults:
        raise InputError(str(path), faults)
    return replace(made, program=replace(made.program, name=spec.name))


def _model(spec: Spec) -> Onnx:
    if not isinstance(spec.model, Onnx):
        raise TypeError(f"{spec.name} has no model file")
    return spec.model


def _faults_of_inputs(program: Program, spec: Spec) -> list[Fault]:
    """Return what the data that stackproof makes cannot fill."""
    faults = []
    inputs = [entry for entry in program.inputs if not is_step(entry)]
    for entry in inputs:
        if re.match(r"u?int", entry.dtype) and not entry.bound:
            what = "takes integers, and the graph does not say below which number: add it to the spec, such as"
            faults.append(Fault(entry.name, f"{what} bounds.{entry.name} = 1000 under [model]"))
    firsts = [entry.shape[0] for entry in inputs if entry.shape]
    size = firsts[-1] if firsts and spec.train.loss != OWN else next(iter(firsts), 0)
    if size != spec.data.batch:
        what = f"its batches have {size} samples and data.batch is {spec.data.batch}"
        faults.append(Fault("", f"{what}: write data.batch = {size}, or export the model with an open batch size"))
    return faults

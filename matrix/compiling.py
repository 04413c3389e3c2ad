"""From a spec to its program, whichever kind of model it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..backends.models.build import build_program
from ..backends.spec import Onnx
from .workload_files import with_files

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from ..backends.program import Program
    from ..backends.spec import Spec


def compile_spec(spec: Spec) -> Program:
    """Return a spec's program.

    Raises:
        InputError: The model is from a file that cannot be trained as the spec asks.
    """
    if not isinstance(spec.model, Onnx):
        return build_program(spec)
    program: Program = _of_spec().import_spec(spec).program
    return program


def with_file(spec: Spec, path: Path) -> Spec:
    """Return a spec that knows its model's file, or those of its command, if it has any, by their content.

    Args:
        spec: The spec.
        path: Its file, which their paths are relative to.

    Raises:
        InputError: A file is missing, or another one than the spec's `digest` says.
    """
    if spec.workload is not None:
        return with_files(spec, path)
    return _of_spec().with_file(spec, path) if isinstance(spec.model, Onnx) else spec


def _of_spec() -> ModuleType:
    from .importing import of_spec  # noqa: PLC0415 - onnx is only loaded where there is a model file

    return of_spec

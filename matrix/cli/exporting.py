"""`stackproof export`: a trained model as ONNX, and its weights as safetensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...compat.errors import Fault, InputError
from ..exporting.inference import as_inference
from ..exporting.onnx_graph import to_model
from ..exporting.weights import save_weights
from ..kept import files_of, read_kept
from ..outputs import check_outputs, write_output
from ..report.wording import clean, size
from ..report.write import render_json
from .output import standard_output

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from ...backends.program import Program


def run(options: argparse.Namespace) -> int:
    """Write what is asked for of a trained model."""
    if options.onnx is None and options.safetensors is None:
        raise InputError("export", [Fault("", "says nothing to write: add --onnx FILE, --safetensors FILE or both")])
    check_outputs(
        "export", {"--onnx": options.onnx, "--safetensors": options.safetensors}, files_of(options.run_folder)
    )
    program = read_kept(options.run_folder)
    tables: dict[str, Any] = {"schema_version": 1, "program": program.name, "program_digest": program.digest}
    if options.onnx is not None:
        tables["onnx"] = _write_onnx(program, options)
    if options.safetensors is not None:
        count = save_weights(program, options.safetensors, options.names)
        tables["safetensors"] = {**_file(options.safetensors), "names": options.names, "tensors": count}
    with standard_output() as stream:
        if options.json:
            stream.write(render_json(tables))
        else:
            stream.writelines(f"{line}\n" for line in _lines(tables))
    return 0


def _write_onnx(program: Program, options: argparse.Namespace) -> dict[str, Any]:
    model = to_model(as_inference(program, options.output))
    write_output(options.onnx, model.SerializeToString())
    return {
        **_file(options.onnx),
        "opset": max(entry.version for entry in model.opset_import if not entry.domain),
        "ir_version": model.ir_version,
        "inputs": [entry.name for entry in model.graph.input],
        "outputs": [entry.name for entry in model.graph.output],
    }


def _file(path: Path) -> dict[str, Any]:
    return {"file": str(path), "bytes": path.stat().st_size}


def _lines(tables: dict[str, Any]) -> list[str]:
    lines = []
    if "onnx" in tables:
        made = tables["onnx"]
        ports = f"{', '.join(made['inputs'])} -> {', '.join(made['outputs'])}"
        lines.append(f"{made['file']}: {size(made['bytes'])}, operator set {made['opset']}, {ports}")
    if "safetensors" in tables:
        made = tables["safetensors"]
        lines.append(f"{made['file']}: {size(made['bytes'])}, {made['tensors']} tensors, {made['names']} names")
    return [clean(line) for line in lines]

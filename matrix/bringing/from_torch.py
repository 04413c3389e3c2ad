"""From a PyTorch model to an ONNX file that stays trainable: nothing folded, merged, renamed or left in inference."""

from __future__ import annotations

import importlib
import logging
import re
import warnings
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx

from ...backends.errors import Fault, InputError, UnsupportedError
from .graph import walk
from .modes import FLAG, MEAN, train_batch_norms, train_dropouts
from .origin import Origin, write_origin
from .proving import check_outputs, check_tensors
from .resizes import size_corners
from .torch_model import array, check_model, held, training_means
from .torch_origin import TRACE, called_dropouts
from .torch_running import check_model_gradients, run_without_dropout
from .trap import refuse
from .traps import find_traps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

    from numpy.typing import NDArray
    from onnx import ModelProto

Module: TypeAlias = Any
Tree: TypeAlias = Any
Exported: TypeAlias = Any
"""PyTorch's own objects: it is not installed where types are checked."""

OLDEST_OPSET = 23
"""The first version of the operator set that has attention and RMS normalisation as operators."""

EXTERNAL_BYTES = 1 << 30
"""From this size on, weights lie in a file beside the model: one ONNX file holds 2 GiB at most."""


def export_torch(
    model: Module,
    example_inputs: Tree,
    path: str | Path,
    *,
    input_names: Sequence[str] | None = None,
    dynamic: Tree = None,
    check: bool = True,
) -> Origin:
    """Export a `torch.nn.Module` to ONNX so that it trains as it does in PyTorch.

    Every parameter is one initializer under its own name, a tied one too; batch norms and dropout are in the mode that
    they have in the model; parameters without `requires_grad` stay frozen. What ONNX has no place for is written into
    the file's metadata, where the importer finds it.

    Args:
        model: The model in training mode. It is not changed.
        example_inputs: A tensor, a tuple of tensors, or a dict of tensors by argument name.
        path: The file to write. Weights of 1 GiB or more are put into a file beside it.
        input_names: Names for the graph's inputs; the names of the arguments otherwise.
        dynamic: What `torch.onnx.export` takes as `dynamic_shapes`.
        check: Whether the export is run and compared with the model, and the model's gradient with what it computes.
            Tensors are compared in any case.

    Returns:
        What was written into the metadata.

    Raises:
        UnsupportedError: PyTorch or onnxscript is missing or too old.
        InputError: The model cannot be carried, or the export is not the model; says what differs, and no file is left.
    """
    torch = _torch()
    source = type(model).__name__
    check_model(source, model)
    whole = Path(path)
    whole.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=whole.parent, prefix=".stackproof-") as folder:
        made = Path(folder) / whole.name
        with _quiet():
            used = _export(torch, model, example_inputs, made, input_names, dynamic)
        origin = _finish(torch, model, made, used)
        _prove(source, made, origin, {one.names[0]: array(one.value) for one in held(model)})
        if check:
            check_outputs(source, onnx.load(made), *run_without_dropout(torch, model, example_inputs))
            check_model_gradients(torch, source, model, example_inputs)
        for file in sorted(Path(folder).iterdir()):
            file.replace(whole.parent / file.name)
    return origin


def _torch() -> ModuleType:
    try:
        importlib.import_module("onnxscript")
        return importlib.import_module("torch")
    except ImportError as fault:
        raise UnsupportedError(
            f"PyTorch's exporter needs a package that is not installed ({fault.name}): pip install torch onnxscript"
        ) from fault


def _export(
    torch: ModuleType,
    model: Module,
    example_inputs: Tree,
    path: Path,
    input_names: Sequence[str] | None,
    dynamic: Tree,
) -> set[str]:
    """Write the plain export and return the names of the tensors that the exported program uses."""
    arguments, keywords = _split(example_inputs)
    try:
        program = torch.onnx.export(
            model,
            arguments,
            kwargs=keywords,
            dynamo=True,
            optimize=False,
            opset_version=_newest_opset(),
            input_names=input_names,
            dynamic_shapes=dynamic,
            verbose=False,
        )
    except Exception as fault:
        what = f"PyTorch cannot export it ({type(fault).__name__}): {_reason(str(fault))}"
        raise InputError(type(model).__name__, [Fault("", what)]) from fault
    program.save(str(path), external_data=sum(one.value.nbytes for one in held(model)) >= EXTERNAL_BYTES)
    return _used(program.exported_program)


def _reason(text: str) -> str:
    """Return what an error of the exporter says, without its advice for PyTorch's own developers."""
    plain = re.sub(r"\x1b\[\d+m", "", text).strip()
    lines = plain.rpartition("## Exception summary")[2].strip().splitlines()
    return lines[0] if lines else "no reason given"


def _newest_opset() -> int:
    """Return the newest operator set that this PyTorch writes as it is, without converting what it wrote."""
    try:
        constants = importlib.import_module("torch.onnx._constants")
    except ImportError:
        return OLDEST_OPSET
    return max(OLDEST_OPSET, getattr(constants, "ONNX_MAX_OPSET", 0))


def _split(example_inputs: Tree) -> tuple[tuple[Tree, ...], dict[str, Tree]]:
    """Return example inputs as positional arguments and keywords."""
    if isinstance(example_inputs, dict):
        return (), dict(example_inputs)
    return (tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)), {}


def _used(program: Exported) -> set[str]:
    users = {node.name: len(node.users) for node in program.graph.nodes}
    return {entry.target for entry in program.graph_signature.input_specs if entry.target and users.get(entry.arg.name)}


def _finish(torch: ModuleType, model: Module, path: Path, used: set[str]) -> Origin:
    """Put names and modes right, and write down what the graph does not say."""
    proto = onnx.load(path, load_external_data=False)
    version = next(entry.version for entry in proto.opset_import if not entry.domain)
    if version < OLDEST_OPSET:
        what = f"came out with operator set {version}, older than {OLDEST_OPSET}: install a newer PyTorch"
        raise InputError(type(model).__name__, [Fault("", what)])
    tensors = held(model)
    _rename(proto, {alias: one.names[0] for one in tensors for alias in one.names[1:]})
    present = {entry.name for entry in proto.graph.initializer}
    origin = Origin(
        source=f"torch {torch.__version__}",
        tensors=tuple(one.record(present | used if one.role != "buffer" else present) for one in tensors),
        batch_norms=tuple(training_means(model)),
        dropouts=called_dropouts(proto),
    )
    _set_modes(proto, origin)
    size_corners(proto)
    _drop_traces(proto)
    write_origin(proto, origin)
    onnx.save(proto, path)
    return origin


def _set_modes(proto: ModelProto, origin: Origin) -> None:
    nodes = [node for node in proto.graph.node if node.op_type in {"BatchNormalization", "Dropout"}]
    norms = [node.output[0] for node in nodes if node.op_type != "Dropout" and node.input[MEAN] in origin.batch_norms]
    train_batch_norms(proto, norms)
    train_dropouts(proto, [node.output[0] for node in nodes if node.op_type == "Dropout" and len(node.input) <= FLAG])


def _drop_traces(proto: ModelProto) -> None:
    """Leave out where in the user's files each node comes from: it is long, and names folders of this machine."""
    for node in walk(proto.graph):
        kept = [entry for entry in node.metadata_props if entry.key != TRACE]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)


def _rename(proto: ModelProto, names: Mapping[str, str]) -> None:
    for tensor in proto.graph.initializer:
        tensor.name = names.get(tensor.name, tensor.name)
    for node in proto.graph.node:
        for position, name in enumerate(node.input):
            node.input[position] = names.get(name, name)


def _prove(source: str, path: Path, origin: Origin, values: Mapping[str, NDArray[Any]]) -> None:
    proto = onnx.load(path)
    onnx.checker.check_model(str(path))
    check_tensors(source, proto, origin, values)
    refuse(source, find_traps(proto))


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what the exporter says of training mode, which is meant here, and of packages that are not needed."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)

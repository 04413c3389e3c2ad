"""Reading an ONNX file: its bytes, the files beside it that hold large tensors, and whether it is sound."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError
from onnx import AttributeProto, ModelProto, TensorProto

from ...backends.errors import Fault, InputError
from ...backends.readers import show
from .tensors import stored_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnx import GraphProto, NodeProto

_PIECE: Final = 2**24


def load_model(path: Path) -> ModelProto:
    """Read a model with all of its tensors.

    Args:
        path: The `.onnx` file. Tensors that it keeps in other files are read from its own folder, and nowhere else.

    Returns:
        The model; every tensor holds its data itself.

    Raises:
        InputError: There is no such file, it is no ONNX model or only a part of one, or a file beside it is missing,
            too short, or outside of its folder.
    """
    model = _parsed(path, _content(path))
    faults = [fault for name, tensor in named_tensors(model) for fault in _take_in(name, tensor, path)]
    if faults:
        raise InputError(str(path), faults)
    return model


def file_digest(path: Path) -> str:
    """Return the SHA-256 over a model's file and the files beside it that hold its tensors.

    Raises:
        InputError: As for `load_model`.
    """
    content = _content(path)
    state, model = hashlib.sha256(content), _parsed(path, content)
    for location in sorted(
        {_entries(tensor).get("location", "") for _, tensor in named_tensors(model) if _is_outside(tensor)}
    ):
        beside, fault = _beside(location, path)
        if fault:
            raise InputError(str(path), [Fault("", fault)])
        state.update(_digest(beside).encode())
    return state.hexdigest()


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Yield every tensor of a model: of its graph, of bodies in it, of its functions, and in attributes."""
    yield from (tensor for _, tensor in named_tensors(model))


def named_tensors(model: ModelProto) -> Iterator[tuple[str, TensorProto]]:
    """Yield the tensors of a model as `tensors` does.

    Each comes with what a message calls it: its own name, or that of the node which holds it.
    """
    yield from _of_graph(model.graph)
    for function in model.functions:
        yield from _of_nodes(function.node)


def _of_graph(graph: GraphProto) -> Iterator[tuple[str, TensorProto]]:
    yield from ((tensor.name, tensor) for tensor in graph.initializer)
    for sparse in graph.sparse_initializer:
        yield from ((sparse.values.name, tensor) for tensor in (sparse.values, sparse.indices))
    yield from _of_nodes(graph.node)


def _of_nodes(nodes: Iterable[NodeProto]) -> Iterator[tuple[str, TensorProto]]:
    for node in nodes:
        for entry in node.attribute:
            name = next((text for text in (node.name, *node.output) if text), node.op_type)
            yield from ((tensor.name or name, tensor) for tensor in _of_attribute(entry))
            for body in [entry.g] if entry.type == AttributeProto.GRAPH else entry.graphs:
                yield from _of_graph(body)


def _of_attribute(entry: AttributeProto) -> Iterator[TensorProto]:
    if entry.type == AttributeProto.TENSOR:
        yield entry.t
    elif entry.type == AttributeProto.TENSORS:
        yield from entry.tensors
    elif entry.type == AttributeProto.SPARSE_TENSOR:
        yield from (entry.sparse_tensor.values, entry.sparse_tensor.indices)


def _content(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a pipe or a device may have no end
            raise InputError(str(path), [Fault("", "is a pipe or a device: name an .onnx file")])
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(str(path), [Fault("", "no such file: check the path")]) from None
    except IsADirectoryError:
        raise InputError(str(path), [Fault("", "is a folder: name an .onnx file in it")]) from None
    except OSError as error:
        what = f"cannot be read ({error.strerror or error}): check the path and the rights"
        raise InputError(str(path), [Fault("", what)]) from None


def _parsed(path: Path, content: bytes) -> ModelProto:
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise InputError(str(path), [Fault("", f"is no ONNX model, or only a part of one ({error})")]) from None
    if not model.ir_version or not model.HasField("graph"):
        raise InputError(str(path), [Fault("", "is no ONNX model: it has no graph, or no IR version")])
    return model


def _digest(path: Path) -> str:
    state = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            state.update(piece)
    return state.hexdigest()


def _take_in(name: str, tensor: TensorProto, path: Path) -> Iterator[Fault]:
    """Put the data of a tensor that lies in another file into the tensor."""
    if not _is_outside(tensor):
        return
    entries = _entries(tensor)
    beside, fault = _beside(entries.get("location", ""), path)
    if fault:
        yield Fault(name, fault)
        return
    offset, length = _place(entries, tensor, beside.stat().st_size)
    if length != stored_bytes(tensor) or offset + length > beside.stat().st_size:
        size = beside.stat().st_size
        what = f"its {stored_bytes(tensor)} bytes are not in {beside.name} ({length} bytes at {offset} of {size})"
        yield Fault(name, f"{what}: the file is cut off, or belongs to another model")
        return
    with beside.open("rb") as file:
        file.seek(offset)
        tensor.raw_data = file.read(length)
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")


def _place(entries: dict[str, str], tensor: TensorProto, size: int) -> tuple[int, int]:
    try:
        offset = int(entries.get("offset", 0))
        given = int(entries.get("length", 0))
    except ValueError:
        return size, 0
    return (offset, given or stored_bytes(tensor)) if offset >= 0 else (size, 0)


def _beside(location: str, path: Path) -> tuple[Path, str]:
    """Return the file that a tensor names, and what is wrong with it, if anything."""
    folder, shown = Path(os.path.realpath(path.parent)), show(location)
    if not location or "\0" in location or Path(location).is_absolute():
        return folder, f"names {shown} for its data, which is no path in the model's own folder"
    beside = Path(os.path.realpath(folder / location))
    if not beside.is_relative_to(folder):
        return (
            folder,
            f"names {shown} for its data, which leaves the model's own folder: nothing is read there",
        )
    try:
        found = beside.is_file()
    except OSError:  # a name that no file system takes
        found = False
    if not found:
        return folder, f"its data are in {shown}, and there is no such file beside the model: put it there"
    return beside, ""


def _is_outside(tensor: TensorProto) -> bool:
    return bool(tensor.data_location == TensorProto.EXTERNAL)


def _entries(tensor: TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}

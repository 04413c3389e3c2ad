"""What `mend` does about each trap that can be mended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper, numpy_helper

from .modes import BATCH_NORM, DROPOUT, train_batch_norms, train_dropouts
from .restoring import COPIED, LOST, MERGED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

    from .trap import Trap


def apply(model: ModelProto, trap: Trap) -> None:
    """Mend one trap in a model, in place."""
    _MENDS[trap.name](model, trap)


def _restore(model: ModelProto, trap: Trap) -> None:
    """Give a weight its name and shape again; what used it under its invented name still does."""
    lost, named = trap.tensors
    tensor = _take(model.graph, lost)
    values = numpy_helper.to_array(tensor)
    model.graph.initializer.append(numpy_helper.from_array(values.T.copy() if trap.transposed else values, named))
    _lead(model.graph, named, lost, transposed=trap.transposed)


def _tie(model: ModelProto, trap: Trap) -> None:
    """Make a copy out of the tensor that it is a copy of."""
    copied, named = trap.tensors
    if _find(model.graph, copied) is not None:
        _take(model.graph, copied)
        _lead(model.graph, named, copied, transposed=trap.transposed)


def _split(model: ModelProto, trap: Trap) -> None:
    """Give nodes a tensor of their own in place of a shared one."""
    shared, named = trap.tensors
    tensor = _find(model.graph, shared)
    if tensor is not None and _find(model.graph, named) is None:
        model.graph.initializer.append(numpy_helper.from_array(numpy_helper.to_array(tensor), named))
    for node in [node for node in model.graph.node if node.output[0] in trap.nodes]:
        if node.op_type == "Identity" and node.output[0] == named:
            model.graph.node.remove(node)
        else:
            _exchange(node, shared, named, trap.position)


def _train_batch_norm(model: ModelProto, trap: Trap) -> None:
    train_batch_norms(model, trap.nodes)


def _train_dropout(model: ModelProto, trap: Trap) -> None:
    train_dropouts(model, trap.nodes)


_MENDS: Mapping[str, Callable[[ModelProto, Trap], None]] = {
    LOST: _restore,
    COPIED: _tie,
    MERGED: _split,
    BATCH_NORM: _train_batch_norm,
    DROPOUT: _train_dropout,
}


def _exchange(node: NodeProto, old: str, new: str, position: int) -> None:
    for index, name in enumerate(node.input):
        if name == old and position in {index, -1}:
            node.input[index] = new


def _lead(graph: GraphProto, source: str, target: str, *, transposed: bool) -> None:
    """Have a node make one tensor of another, before everything else."""
    graph.node.insert(0, helper.make_node("Transpose" if transposed else "Identity", [source], [target]))


def _find(graph: GraphProto, name: str) -> TensorProto | None:
    return next((tensor for tensor in graph.initializer if tensor.name == name), None)


def _take(graph: GraphProto, name: str) -> TensorProto:
    tensor: TensorProto = next(entry for entry in graph.initializer if entry.name == name)
    graph.initializer.remove(tensor)
    return tensor

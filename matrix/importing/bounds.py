"""What the integers that go into a model must stay below: the rows of the table that they choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto, numpy_helper

from ...backends.errors import Fault, InputError, did_you_mean
from .checking import ONNX_DOMAINS
from .folding import shapes_of
from .inlining import all_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onnx import ModelProto, NodeProto

_WHOLE = {
    *(TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64),
    *(TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64),
}
_MOVES = {"Cast", "Reshape", "Identity", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Expand", "Slice"}


def with_bounds(model: ModelProto, source: str, given: Mapping[str, int]) -> dict[str, int]:
    """Return the bound of each integer input, as far as it is known.

    Args:
        model: A model with inferred shapes; large tensors may stand among its inputs.
        source: What the user called it.
        given: What the user says; it goes before what the graph says.

    Raises:
        InputError: A bound is given for what is no integer input.
    """
    whole = [entry.name for entry in model.graph.input if entry.type.tensor_type.elem_type in _WHOLE]
    faults = [
        Fault(name, f"is no integer input of the model; {did_you_mean(name, whole)}")
        for name in given
        if name not in whole
    ]
    if faults:
        raise InputError(source, faults)
    shapes = shapes_of(model)
    found = {name: min(_limits(model, name, shapes), default=0) for name in whole}
    return {**found, **given}


def _limits(model: ModelProto, name: str, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[int]:
    """Yield what each node that chooses by a tensor allows."""
    for node in all_nodes(model.graph):
        if name not in node.input or node.domain not in ONNX_DOMAINS:
            continue
        place = list(node.input).index(name)
        if node.op_type in _MOVES and place == 0:
            yield from _limits(model, node.output[0], shapes)
        elif node.op_type in {"Gather", "GatherElements"} and place == 1 and node.input[0] in shapes:
            axis = next((entry.i for entry in node.attribute if entry.name == "axis"), 0)
            yield shapes[node.input[0]][axis]
        elif node.op_type == "OneHot" and place == 0:
            yield from _depth(model, node)


def _depth(model: ModelProto, node: NodeProto) -> Iterator[int]:
    yield from (
        int(numpy_helper.to_array(t).reshape(-1)[0]) for t in model.graph.initializer if t.name == node.input[1]
    )

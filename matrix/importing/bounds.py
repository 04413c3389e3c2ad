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
# What lies outside of it gives a row without a 1, and no fault.
_ONE_HOT = "OneHot"


def with_bounds(model: ModelProto, source: str, given: Mapping[str, int]) -> dict[str, int]:
    """Return the bound of each integer input, as far as it is known.

    Args:
        model: A model with inferred shapes; large tensors may stand among its inputs.
        source: What the user called it.
        given: What the user says; it goes before what the graph says.

    Raises:
        InputError: A bound is given for what is no integer input, or above what a table has.
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
    limits = {name: list(_limits(model, name, shapes)) for name in whole}
    rows = {name: min((count for op, count in held if op != _ONE_HOT), default=0) for name, held in limits.items()}
    faults = [_too_high(name, bound, rows[name]) for name, bound in given.items() if 0 < rows[name] < bound]
    if faults:
        raise InputError(source, faults)
    return {**{name: min((count for _, count in held), default=0) for name, held in limits.items()}, **given}


def _too_high(name: str, bound: int, rows: int) -> Fault:
    what = f"is {bound}, and the table that {name} chooses from has {rows} rows: write {rows} or less"
    return Fault(f"model.bounds.{name}", f"{what}, or remove it (--bound {name}={rows} of an import)")


def _limits(model: ModelProto, name: str, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, int]]:
    """Yield what each node that chooses by a tensor allows, with its operator."""
    moved = {name}
    for node in all_nodes(model.graph):  # in order: what moves a tensor comes before what takes it from there
        places = {place for place, taken in enumerate(node.input) if taken in moved}
        if not places or node.domain not in ONNX_DOMAINS:
            continue
        if node.op_type in _MOVES and 0 in places:
            moved.add(node.output[0])
        elif node.op_type in {"Gather", "GatherElements"} and 1 in places and node.input[0] in shapes:
            axis = next((entry.i for entry in node.attribute if entry.name == "axis"), 0)
            yield node.op_type, shapes[node.input[0]][axis]
        elif node.op_type == _ONE_HOT and 0 in places:
            yield from ((_ONE_HOT, depth) for depth in _depth(model, node))


def _depth(model: ModelProto, node: NodeProto) -> Iterator[int]:
    yield from (
        int(numpy_helper.to_array(t).reshape(-1)[0]) for t in model.graph.initializer if t.name == node.input[1]
    )

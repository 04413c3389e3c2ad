"""What a model says of the types and sizes of its inputs and outputs, made such that ONNX's checker can read on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper

from ...backends.errors import Fault, InputError
from ..bringing.trap import Trap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onnx import ModelProto, ValueInfoProto

OPEN = "size-taken-as-open"


def settle(model: ModelProto, source: str, shapes: Mapping[str, tuple[int, ...]]) -> list[Trap]:
    """Open the sizes that say nothing, and write down those that the user gives for inputs without any.

    Args:
        model: The model to change; its initializers are not among its inputs.
        source: What the user called it.
        shapes: Sizes that the user gives, by input.

    Returns:
        A note for each input of which a size was opened.

    Raises:
        InputError: An input or output has no type, or no shape and none is given.
    """
    notes = [note for entry in model.graph.input for note in _opened(entry)]
    for entry in (*model.graph.value_info, *model.graph.output):
        list(_opened(entry))
    for entry in model.graph.input:
        kind = entry.type.tensor_type
        if kind.elem_type and not kind.HasField("shape") and entry.name in shapes:
            kind.CopyFrom(helper.make_tensor_type_proto(kind.elem_type, shapes[entry.name]).tensor_type)
    parts = (("input", model.graph.input), ("output", model.graph.output))
    faults = [fault for part, entries in parts for entry in entries for fault in _untold(part, entry)]
    if faults:
        raise InputError(source, faults)
    return notes


def example(name: str) -> str:
    """Return how the sizes of an input are given."""
    return f"such as --shape {name}=8,3,32,32 or shapes.{name} = [8, 3, 32, 32] under [model]"


def _opened(entry: ValueInfoProto) -> Iterator[Trap]:
    """Open the sizes below 1, which some exporters write for a size that they do not know."""
    found = [(axis, s) for axis, s in enumerate(entry.type.tensor_type.shape.dim) if s.HasField("dim_value")]
    for axis, size in found:
        if size.dim_value < 1:
            what = f"the size {axis} of {entry.name} is {size.dim_value} in the model: it is taken as open"
            size.ClearField("dim_value")
            yield Trap(OPEN, "noted", what, tensors=(entry.name,))


def _untold(part: str, entry: ValueInfoProto) -> Iterator[Fault]:
    kind = entry.type.WhichOneof("value")
    if kind is None or (kind == "tensor_type" and not entry.type.tensor_type.elem_type):
        yield Fault(entry.name, f"the {part} has no type in the model: export it again, with the types of its {part}s")
    elif kind == "tensor_type" and not entry.type.tensor_type.HasField("shape"):
        mend = f"give its sizes, {example(entry.name)}" if part == "input" else "run onnx.shape_inference over it"
        yield Fault(entry.name, f"the {part} has no shape in the model: {mend}")

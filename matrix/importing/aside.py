"""Large tensors put aside while a graph is worked on, so that a model of any size can be handed to onnx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onnx import helper

from .tensors import stored_bytes

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

# What is smaller may be a shape, an axis or a scale that a step needs to read.
SMALL: Final = 4096


def put_aside(model: ModelProto, least: int = SMALL) -> dict[str, TensorProto]:
    """Take the large initializers out of a model; each becomes an input of its type and shape.

    Args:
        model: The model to change.
        least: From how many bytes on a tensor counts as large.

    Returns:
        What was taken out, by name.
    """
    graph = model.graph
    large = {tensor.name: tensor for tensor in graph.initializer if stored_bytes(tensor) >= least}
    listed = {entry.name for entry in graph.input}
    small = [tensor for tensor in graph.initializer if tensor.name not in large]
    graph.input.extend(
        helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims))
        for name, tensor in large.items()
        if name not in listed
    )
    del graph.initializer[:]
    graph.initializer.extend(small)
    return large


def bring_back(model: ModelProto, aside: dict[str, TensorProto]) -> None:
    """Put tensors that `put_aside` took out into the model again."""
    kept = [entry for entry in model.graph.input if entry.name not in aside]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for tensor in aside.values():  # a list that is extended is handed over in one message, of less than 2 GiB
        model.graph.initializer.add().CopyFrom(tensor)

"""A model of narrow or wide floats as one of float32, which is what programs are trained in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import AttributeProto, TensorProto, numpy_helper

from .inlining import all_nodes
from .loading import tensors
from .tensors import FLOATS, type_word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import ModelProto, TypeProto

_OTHERS = FLOATS - {TensorProto.FLOAT}
# Attributes that hold the number of a data type which a node makes or computes in.
_TYPED = {"to", "dtype", "stash_type", "softmax_precision", "output_dtype"}


def widen(model: ModelProto, aside: Iterable[TensorProto]) -> list[str]:
    """Make every float16, bfloat16 and float64 of a model a float32.

    Args:
        model: The model to change; its inferred shapes and types are dropped.
        aside: Tensors put aside, which are changed as well.

    Returns:
        The names of the types that there were, sorted.
    """
    found: set[int] = set()
    for tensor in [*tensors(model), *aside]:
        if tensor.data_type in _OTHERS:
            found.add(tensor.data_type)
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
    for entry in (*model.graph.input, *model.graph.output):
        _restate(entry.type, found)
    for node in all_nodes(model.graph):
        for attribute in node.attribute:
            if attribute.name in _TYPED and attribute.type == AttributeProto.INT and attribute.i in _OTHERS:
                found.add(attribute.i)
                attribute.i = TensorProto.FLOAT
    if found:
        del model.graph.value_info[:]
    return sorted(type_word(number) for number in found)


def _restate(kind: TypeProto, found: set[int]) -> None:
    if kind.HasField("tensor_type") and kind.tensor_type.elem_type in _OTHERS:
        found.add(kind.tensor_type.elem_type)
        kind.tensor_type.elem_type = TensorProto.FLOAT

"""An export, held against the model it was made from: its initializers by name, and what it computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ...backends.errors import Fault, InputError
from .graph import walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from .origin import Origin

_FAR = 2.5e-4
"""How far apart two computations of the same may lie, relative to the biggest value: 2000 roundings of float32."""

_COARSE = {TensorProto.FLOAT16: 0.02, TensorProto.BFLOAT16: 0.1}
"""The same for weights of 16 bits: about 16 roundings."""


def check_tensors(source: str, model: ModelProto, origin: Origin, values: Mapping[str, NDArray[Any]]) -> None:
    """Check that every tensor that the model uses is an initializer once: same name, shape, dtype and values.

    Args:
        source: What the user called the model.
        model: The export, its external data loaded.
        origin: What was written down of the original model.
        values: The original tensors by name.

    Raises:
        InputError: Some are missing, double, of another shape, or have other values; each is named.
    """
    held = [tensor.name for tensor in model.graph.initializer]
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    faults = [Fault(name, "is an initializer twice") for name in sorted(set(held)) if held.count(name) > 1]
    compared = {t.name: _compare(tensors.get(t.name), values[t.name]) for t in origin.tensors if t.used}
    why = "the exporter changed it, and it would not train as in the model"
    faults += [Fault(name, f"{what}: {why}") for name, what in compared.items() if what]
    if faults:
        raise InputError(source, faults)


def check_outputs(
    source: str, model: ModelProto, inputs: Sequence[NDArray[Any]], expected: Sequence[NDArray[Any]]
) -> None:
    """Check that an export computes what its model does.

    Args:
        source: What the user called the model.
        model: The export.
        inputs: Its inputs, in order.
        expected: What the model made of them, in order, without dropout.

    Raises:
        InputError: An output differs by more than rounding.
    """
    feeds = {entry.name: value for entry, value in zip(model.graph.input, inputs, strict=True)}
    results = ReferenceEvaluator(_without_dropout(model)).run(None, feeds)
    far = max([_FAR, *(_COARSE.get(tensor.data_type, 0.0) for tensor in model.graph.initializer)])
    faults = []
    for entry, result, value in zip(model.graph.output, results, expected, strict=False):
        if distance := _distance(np.asarray(result), value, far):
            faults.append(Fault(entry.name, f"the export computes something else than the model, {distance}"))
    if faults:
        raise InputError(source, faults)


def _compare(tensor: TensorProto | None, value: NDArray[Any]) -> str:
    if tensor is None:
        return "is no initializer of the export"
    if tuple(tensor.dims) != value.shape:
        return f"has shape {list(tensor.dims)} in the export and {list(value.shape)} in the model"
    same = np.array_equal(numpy_helper.to_array(tensor).astype(value.dtype), value, equal_nan=value.dtype.kind == "f")
    return "" if same else "has other values in the export than in the model"


def _distance(result: NDArray[Any], value: NDArray[Any], far: float) -> str:
    if result.shape != value.shape:
        return f"of shape {list(result.shape)} and not {list(value.shape)}"
    if value.dtype.kind != "f":
        return "" if np.array_equal(result, value) else "in whole numbers"
    apart = float(np.max(np.abs(result.astype(np.float64) - value), initial=0.0))
    scale = max(float(np.max(np.abs(value), initial=0.0)), 1.0)
    return "" if apart <= far * scale else f"by {apart:.2g} at values up to {scale:.2g}"


def _without_dropout(model: ModelProto) -> ModelProto:
    plain = ModelProto()
    plain.CopyFrom(model)
    for node in walk(plain.graph):
        if node.op_type == "Dropout":
            del node.input[1:]
    return plain


def dtype_name(value: NDArray[Any]) -> str:
    """Return the name of an array's dtype in ONNX, such as `FLOAT`."""
    return str(TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(value.dtype)))

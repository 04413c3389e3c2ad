"""Between ONNX's tensors and what a program holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, numpy_helper

from ...backends.errors import Fault, InputError
from ...backends.nodes import DTYPES
from ...backends.values import CARRIERS, Narrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

PACKED = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
"""Bits of an element of the data types that are packed."""
FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
"""Data types of parameters that can be trained."""


def dtype_name(number: int) -> str:
    """Return the name of an ONNX data type, or an empty string for one that no program holds."""
    return DTYPES.get(number, "")


def type_word(number: int) -> str:
    """Return ONNX's own name of a data type in lower case, whatever the number."""
    known = TensorProto.DataType.values()
    return TensorProto.DataType.Name(number).lower() if number in known else f"data type {number}"


def read_tensor(tensor: TensorProto) -> NDArray[Any] | Narrow:
    """Return a tensor's values; narrow ones in their carrier.

    Raises:
        InputError: The tensor's data are not as many as its shape says, or of a kind that no program holds.
    """
    if not dtype_name(tensor.data_type):
        what = f"is of type {type_word(tensor.data_type)}, which no framework trains on: take it out of the model"
        raise InputError("the ONNX model", [Fault(tensor.name, what)])
    try:
        return carried(numpy_helper.to_array(tensor), tensor.data_type)
    except (ValueError, TypeError) as error:
        what = f"its data do not fit its shape {list(tensor.dims)} ({error}): the file is damaged"
        raise InputError("the ONNX model", [Fault(tensor.name, what)]) from None


def carried(array: NDArray[Any], number: int) -> NDArray[Any] | Narrow:
    """Return an array of an ONNX data type as a program holds it."""
    name = dtype_name(number)
    if name in CARRIERS:
        return Narrow(array.astype(np.float32).astype(CARRIERS[name]), name)
    return array


def stored_bytes(tensor: TensorProto) -> int:
    """Return how many bytes a tensor's data have where they are stored as they are in memory."""
    count = int(math.prod(tensor.dims))
    if tensor.data_type in PACKED:
        return -(-count * PACKED[tensor.data_type] // 8)
    name = dtype_name(tensor.data_type)
    if name in CARRIERS:
        return count * (2 if name == "bfloat16" else 1)
    return count * np.dtype(name).itemsize if name else -1

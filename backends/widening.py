"""Nodes in a float64 run: what is said to be float32, or narrower, is float64: the run computes the function itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .graph import Node

# ONNX TensorProto.DataType numbers.
_FLOAT, _HALF, _DOUBLE, _BRAIN = 1, 10, 11, 16
# Attributes that name the dtype of what a node makes, and operators that make float32 without them.
_DTYPES = ("dtype", "output_datatype", "output_dtype", "to")
_UNLESS_SAID: Mapping[str, Mapping[str, Any]] = {
    "BlackmanWindow": {"output_datatype": _FLOAT},
    "ConstantOfShape": {"value": np.zeros(1, np.float32)},
    "HammingWindow": {"output_datatype": _FLOAT},
    "HannWindow": {"output_datatype": _FLOAT},
    "MelWeightMatrix": {"output_datatype": _FLOAT},
    "RandomNormal": {"dtype": _FLOAT},
    "RandomUniform": {"dtype": _FLOAT},
}


def widened_node(node: Node, precision: str) -> Node:
    """Return a node that in a float64 run makes float64 where it says, or has by default, that it makes float32.

    So it does for bfloat16 and float16: programs have them from mixed precision only, which a float64 run has not.
    """
    if precision != "float64":
        return node
    stated = {**_UNLESS_SAID.get(node.op, {}), **node.attributes}
    wide: dict[str, Any] = {name: _DOUBLE for name in _DTYPES if stated.get(name) in {_FLOAT, _HALF, _BRAIN}}
    wide.update({name: value.astype("float64") for name, value in stated.items() if _is_float32(value)})
    return replace(node, attributes={**node.attributes, **wide}) if wide else node


def _is_float32(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float32

"""Values whose dtype numpy, or a framework, has no name for.

`bfloat16`, the 8- and 4-bit floats and the 4- and 2-bit integers are carried by a wider dtype that holds each of their
values exactly. On a device `bfloat16` and `float16` are the framework's own; the others stay carried there too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# What carries a narrow dtype.
CARRIERS = {
    "bfloat16": "float32",
    "float8e4m3fn": "float32",
    "float8e4m3fnuz": "float32",
    "float8e5m2": "float32",
    "float8e5m2fnuz": "float32",
    "float8e8m0": "float32",
    "float6e2m3": "float32",
    "float6e3m2": "float32",
    "float4e2m1": "float32",
    "int4": "int8",
    "uint4": "uint8",
    "int2": "int8",
    "uint2": "uint8",
}


# What the name of a tensor ends with that mixed precision holds in a narrow dtype.
NARROW_SUFFIX = ":narrow"


@dataclass(frozen=True)
class Narrow:
    """A tensor of a narrow dtype.

    Attributes:
        values: A numpy array, or a framework's tensor, of the dtype `CARRIERS[dtype]`; each element is a value that the
            narrow dtype has.
        dtype: A key of `CARRIERS`: ONNX's name of the data type in lower case, without underscores.
    """

    values: Any
    dtype: str


# Operators that only move or select elements, so that what carries a narrow dtype can stand for it.
MOVING_OPERATORS = frozenset(
    {
        "CenterCropPad",
        "Compress",
        "Concat",
        "DepthToSpace",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "Pad",
        "Reshape",
        "ReverseSequence",
        "Scatter",
        "ScatterElements",
        "ScatterND",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Trilu",
        "Unsqueeze",
        "Where",
    }
)

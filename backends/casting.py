"""What every target's casts share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import UnsupportedError
from .nodes import DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

_WIDTHS = {
    8: ("bool", "int8", "uint8"),
    16: ("int16", "uint16", "float16", "bfloat16"),
    32: ("int32", "uint32", "float32"),
    64: ("int64", "uint64", "float64", "complex64"),
    128: ("complex128",),
}


def bit_cast_type(source: str, attributes: Mapping[str, Any], target: str) -> str:
    """Return the name of the dtype that a `BitCast` node reads the bits as.

    Args:
        source: The name of the input's dtype.
        attributes: The node's.
        target: The framework's name, for the message.

    Raises:
        UnsupportedError: The two dtypes differ in width, or one of them is carried by a wider one.
    """
    wanted = DTYPES.get(attributes["to"], f"ONNX data type {attributes['to']}")
    if any({source, wanted} <= set(names) for names in _WIDTHS.values()):
        return wanted
    raise UnsupportedError(
        f"BitCast from {source} to {wanted} has no rule on {target}: it needs two dtypes of one width, 8 bits or more"
    )

"""What random operators share on every target: seeds, shapes and dtypes.

The numbers themselves come from each framework's generator, so that they differ between frameworks; on one framework a
node with a seed draws the same ones at every run.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .nodes import DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

# ONNX TensorProto.DataType numbers of float32 and int32.
_FLOAT, _INT = 1, 6


@dataclass(frozen=True)
class Draw:
    """What a node draws.

    Attributes:
        dtype: The name of the result's dtype.
        seed: Of the generator, from 0 to 2**32 - 1; None for one that differs from run to run.
        shift: Mean of a normal draw, or lower bound of a uniform one.
        scale: Standard deviation of a normal draw, or width of a uniform one.
    """

    dtype: str
    seed: int | None
    shift: float = 0.0
    scale: float = 1.0

    @property
    def wide(self) -> str:
        """Return the dtype that is drawn in."""
        return "float64" if self.dtype == "float64" else "float32"


def drawn(op: str, attributes: Mapping[str, Any], like: str = "") -> Draw:
    """Return what a node draws.

    Args:
        op: The operator's name.
        attributes: The node's.
        like: The name of the dtype that counts where the node states none.
    """
    number = attributes.get("dtype", None if like else _INT if op == "Multinomial" else _FLOAT)
    dtype = like if number is None else DTYPES[number]
    if "Normal" in op:
        shift, scale = attributes.get("mean", 0.0), attributes.get("scale", 1.0)
    else:
        shift = attributes.get("low", 0.0)
        scale = attributes.get("high", 1.0) - shift
    return Draw(dtype, _seed(attributes), shift, scale)


def _seed(attributes: Mapping[str, Any]) -> int | None:
    """Return the bits of the seed, which is a float32 number."""
    if "seed" not in attributes:
        return None
    (bits,) = struct.unpack("<I", struct.pack("<f", attributes["seed"]))
    return int(bits)

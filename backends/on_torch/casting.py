"""PyTorch rules: from one dtype to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..casting import bit_cast_type
from ..narrow import FORMATS, NARROW_INTEGERS, SCALE_FORMAT, Floats, rounded, wrapped
from ..nodes import cast_type
from ..registry import rule
from ..values import CARRIERS, Narrow
from .unsigned import signed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

# Integers that float32 does not hold exactly.
_LARGE = (torch.int32, torch.int64, torch.uint32, torch.uint64)


def _power(value: Any) -> Any:
    kind, mask = (torch.int64, 0x7FF << 52) if value.dtype == torch.float64 else (torch.int32, 0xFF << 23)
    return (value.view(kind) & mask).view(value.dtype)


_FLOATS = Floats(_power, torch.round, torch.isnan, torch.where)


def dtype_name(value: Any) -> str:
    """Return the name of a tensor's dtype as `nodes.DTYPES` has it."""
    return value.dtype if isinstance(value, Narrow) else str(value.dtype).rpartition(".")[2]


def cast(value: Any, name: str, attributes: Attributes) -> Any:
    """Return a tensor, narrow or not, in the dtype of that name.

    Args:
        value: What to convert.
        name: As `nodes.DTYPES` has it.
        attributes: Those of a `Cast` node that say how to round to a narrow dtype.
    """
    source = value.values if isinstance(value, Narrow) else value
    if name in NARROW_INTEGERS:
        whole = source.to(torch.int32) if source.dtype.is_floating_point else signed(source)
        return Narrow(wrapped(whole, name).to(getattr(torch, CARRIERS[name])), name)
    if name in FORMATS or name == SCALE_FORMAT:
        wide = source.to(torch.float64 if source.dtype in (torch.float64, *_LARGE) else torch.float32)
        return Narrow(rounded(wide, name, _FLOATS, dict(attributes)).to(torch.float32), name)
    return _plain(source, getattr(torch, name))


def _plain(value: Any, dtype: torch.dtype) -> Any:
    return value if value.dtype == dtype else value.to(dtype)


@rule("Cast", "torch")
def _cast(inputs: Inputs, attributes: Attributes) -> Any:
    return cast(inputs[0], cast_type(attributes, "torch"), attributes)


@rule("CastLike", "torch")
def _cast_like(inputs: Inputs, attributes: Attributes) -> Any:
    return cast(inputs[0], dtype_name(inputs[1]), attributes)


@rule("BitCast", "torch")
def _bit_cast(inputs: Inputs, attributes: Attributes) -> Any:
    return inputs[0].view(getattr(torch, bit_cast_type(dtype_name(inputs[0]), attributes, "torch")))

"""PyTorch rule: dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..dropping import drop, mask
from ..errors import UnsupportedError
from ..registry import rule
from ..values import Narrow
from .gates import constant_while_compiled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@rule("Dropout", "torch")
def _dropout(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[Any, Any]:
    data, dropped = inputs[0], drop(inputs, attributes)
    carrier = data.values if isinstance(data, Narrow) else data
    if dropped is None:
        return data, torch.ones_like(carrier, dtype=torch.bool)
    if isinstance(data, Narrow):
        raise UnsupportedError(f"Dropout in training mode has no rule for {data.dtype} on torch")
    if torch.compiler.is_compiling():
        dropped.refuse_without_seed("torch")
    kept = _kept(dropped.ratio, dropped.seed, tuple(data.shape)).to(data.device)
    return torch.where(kept, data / (1.0 - dropped.ratio), 0.0), kept


@constant_while_compiled
def _kept(ratio: float, seed: int | None, shape: tuple[int, ...]) -> Any:
    return torch.from_numpy(mask(ratio, seed, shape))

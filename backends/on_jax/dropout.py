"""JAX rule: dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..dropping import drop, mask
from ..errors import UnsupportedError
from ..registry import rule
from ..values import Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@rule("Dropout", "jax")
def _dropout(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[Any, Any]:
    data, dropped = inputs[0], drop(inputs, attributes)
    carrier = data.values if isinstance(data, Narrow) else data
    if dropped is None:
        return data, jnp.ones_like(carrier, dtype=bool)
    if isinstance(data, Narrow):
        raise UnsupportedError(f"Dropout in training mode has no rule for {data.dtype} on jax")
    if isinstance(data, jax.core.Tracer):
        dropped.refuse_without_seed("jax")
    kept = jnp.asarray(mask(dropped.ratio, dropped.seed, data.shape))
    return jnp.where(kept, data / (1.0 - dropped.ratio), 0.0), kept

"""JAX rule: the gradient of a part of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..registry import rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@rule("Gradient", "jax")
def _gradient(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    count = len(attributes["xs"])

    def function(*moving: Any) -> Any:
        return attributes["body"](*moving, *inputs[count:])[0]

    made, pullback = jax.vjp(function, *inputs[:count])
    return tuple(pullback(jnp.ones_like(made)))

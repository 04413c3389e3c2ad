"""The optimizer on JAX: every update by the shared rules of `backends/optimizers.py`. XLA fuses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp

from ..optimizer_groups import parts
from ..optimizer_rules import Before
from ..optimizers import apply, held_of, state_shapes
from . import arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    from ..spec import Optimizer

    Tensors = dict[str, Array]
    Orders = Mapping[str, Sequence[int]]

_AS_THEY_ARE: Orders = {}


def new_state(optimizer: Optimizer, parameters: Tensors, orders: Orders = _AS_THEY_ARE) -> Tensors:
    """Return the optimizer's tensors before the first update, by slot and parameter, such as `first/weight`.

    Args:
        optimizer: The rule.
        parameters: Tensors by name.
        orders: For parameters in another order than the program's, its axis at each place.

    Raises:
        UnsupportedError: A group or pattern of the optimizer is of no parameter.
    """
    dtypes = {name: parameter.dtype for name, parameter in parameters.items()}
    shapes = state_shapes(optimizer, parameters, orders)
    return {key: jnp.zeros(shape, dtypes[key.partition("/")[2]]) for key, shape in shapes.items()}


def global_norm(gradients: Tensors) -> Array:
    """Return the square root of the sum of all squared elements."""
    return jnp.sqrt(sum(jnp.sum(gradient * gradient) for gradient in gradients.values()))


def clipped(gradients: Tensors, norm: Array, largest: float) -> Tensors:
    """Return gradients scaled by `min(1, largest / norm)`, or as they are where `largest` is 0."""
    if largest == 0.0:
        return gradients
    scale = jnp.minimum(1.0, largest / norm)
    return {name: gradient * scale for name, gradient in gradients.items()}


def update(
    optimizer: Optimizer,
    parameters: Tensors,
    gradients: Tensors,
    state: Tensors,
    rates: Array,
    orders: Orders = _AS_THEY_ARE,
) -> tuple[Tensors, Tensors]:
    """Make one update.

    Args:
        optimizer: The rule.
        parameters: Tensors before the update.
        gradients: Their gradients, clipped.
        state: The optimizer's tensors before the update.
        rates: Shape (4,): a row of `schedule.rates`.
        orders: For parameters in another order than the program's, its axis at each place.

    Returns:
        Parameters and state after it.
    """
    changed: Tensors = {}
    kept: Tensors = {}
    for own, names in parts(optimizer, parameters):
        for name in names:
            held = held_of(own.rule, name, parameters[name].ndim, state)
            before = Before(parameters[name], gradients[name], held)
            changed[name], after = apply(arrays, own, before, rates, orders.get(name, ()))
            kept.update({f"{slot}/{name}": tensor for slot, tensor in after.items()})
    return changed, kept

"""What an optimizer keeps of each parameter, and one update of a parameter, for every target.

A parameter's state is a few tensors, its slots, which go by the same names on every target. They are laid out as the
parameter is, and begin at zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from . import matrix_rules, optimizer_rules
from .optimizer_groups import check_names, parts
from .optimizer_rules import Before

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from .optimizer_groups import Own
    from .optimizer_rules import Held, Made
    from .recipe import Optimizer

_MATRIX = 2
# Slots of a parameter's own shape; those of the other kinds depend on more than the kind.
_SLOTS = {
    "adagrad": ("second",),
    "adam": ("first", "second"),
    "adamw": ("first", "second"),
    "lamb": ("first", "second"),
    "lion": ("first",),
}
_RULES: Mapping[str, Callable[..., Made]] = {
    "adafactor": matrix_rules.adafactor,
    "adagrad": optimizer_rules.adagrad,
    "adam": optimizer_rules.adam,
    "adamw": optimizer_rules.adamw,
    "lamb": optimizer_rules.lamb,
    "lion": optimizer_rules.lion,
    "muon": matrix_rules.muon,
    "rmsprop": optimizer_rules.rmsprop,
    "sgd": optimizer_rules.sgd,
}


def slots(rule: Optimizer, shape: Sequence[int], order: Sequence[int] = ()) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors that a rule keeps for a parameter.

    Args:
        rule: What `optimizer_groups.own_of` says of the parameter.
        shape: The parameter's.
        order: The program's axis at each of the parameter's places, where they are in another order.
    """
    whole = tuple(shape)
    if rule.kind == "adafactor":
        return _factored(whole, order)
    if rule.kind in _SLOTS:
        return dict.fromkeys(_SLOTS[rule.kind], whole)
    squares = {"second": whole} if rule.kind == "rmsprop" else {}
    return {**squares, "velocity": whole} if rule.momentum > 0.0 else squares


def _factored(shape: tuple[int, ...], order: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of Adafactor's mean squares: of rows and of columns where there are both."""
    if len(shape) < _MATRIX:
        return {"second": shape}
    places = list(order) or list(range(len(shape)))
    row, column = places.index(len(shape) - 2), places.index(len(shape) - 1)
    return {
        "rows": tuple(1 if axis == column else size for axis, size in enumerate(shape)),
        "columns": tuple(1 if axis == row else size for axis, size in enumerate(shape)),
    }


def state_shapes(
    optimizer: Optimizer, parameters: Mapping[str, Any], orders: Mapping[str, Sequence[int]]
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all that an optimizer keeps, by slot and parameter, such as `first/weight`.

    Args:
        optimizer: The spec's.
        parameters: Tensors by name.
        orders: For parameters in another order than the program's, its axis at each place.

    Raises:
        UnsupportedError: A group or pattern of the optimizer is of no parameter.
    """
    check_names(optimizer, parameters)
    return {
        f"{slot}/{name}": shape
        for own, names in parts(optimizer, parameters)
        for name in names
        for slot, shape in slots(own.rule, parameters[name].shape, orders.get(name, ())).items()
    }


def held_of(rule: Optimizer, name: str, axes: int, state: Mapping[str, Any]) -> Held:
    """Return the slots of one parameter, which has so many axes, out of an optimizer's whole state."""
    return {slot: state[f"{slot}/{name}"] for slot in slots(rule, (1,) * axes)}


def apply(kit: ModuleType, own: Own, before: Before, rates: Any, order: Sequence[int] = ()) -> Made:
    """Make one update of one parameter.

    Args:
        kit: The target's functions.
        own: What updates the parameter.
        before: The parameter before the update.
        rates: Shape (4,): a row of `schedule.rates`.
        order: The program's axis at each of the parameter's places, where they are in another order.

    Returns:
        The parameter and its slots after the update.
    """
    scaled = (rates[0] if own.share == 1.0 else rates[0] * own.share, rates[1], rates[2])
    rule = _RULES[own.rule.kind]
    if own.rule.kind != "adafactor" or not order:
        return rule(kit, own.rule, before, scaled)
    made, after = rule(kit, own.rule, _turned(kit, before, [int(place) for place in np.argsort(order)]), scaled)
    return kit.turned(made, order), {slot: kit.turned(tensor, order) for slot, tensor in after.items()}


def _turned(kit: Any, before: Before, order: Sequence[int]) -> Before:
    held = {slot: kit.turned(tensor, order) for slot, tensor in before.held.items()}
    return Before(kit.turned(before.parameter, order), kit.turned(before.gradient, order), held)

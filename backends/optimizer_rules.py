"""The update rules that go element by element, written once in the functions of `kit.Kit`.

Each takes the kit, the rule with its numbers, what is there before the update, and the learning rate with the
optimizer's two numbers of the step. It returns the parameter and its slots after the update. Formulas:
`docs/training.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .recipe import Optimizer

    Held = dict[str, Any]
    Made = tuple[Any, Held]


class Before(NamedTuple):
    """One parameter before an update.

    Attributes:
        parameter: It.
        gradient: Its gradient, clipped.
        held: Its slots.
    """

    parameter: Any
    gradient: Any
    held: Mapping[str, Any]


def adam(kit: Any, rule: Optimizer, before: Before, rates: Any) -> Made:
    """Adam (Kingma and Ba, 2015, algorithm 1), with decay in the gradient."""
    return _by_moments(kit, rule, before._replace(gradient=_slope(rule, before)), rates)


def adamw(kit: Any, rule: Optimizer, before: Before, rates: Any) -> Made:
    """AdamW (Loshchilov and Hutter, 2019, algorithm 2)."""
    return _by_moments(kit, rule, before._replace(parameter=shrunk(rule, before.parameter, rates[0])), rates)


def _by_moments(kit: Any, rule: Optimizer, before: Before, rates: Any) -> Made:
    rate, correct_first, correct_second = rates
    after = _moments(rule, before)
    scale, root = rate / correct_first, 1.0 / kit.sqrt(correct_second)
    change = scale * after["first"] / (kit.sqrt(after["second"]) * root + rule.eps)
    return before.parameter - change, after


def lamb(kit: Any, rule: Optimizer, before: Before, rates: Any) -> Made:
    """LAMB (You et al., 2020, algorithm 2)."""
    rate, correct_first, correct_second = rates
    after = _moments(rule, before)
    change = after["first"] / correct_first / (kit.sqrt(after["second"] / correct_second) + rule.eps)
    if rule.weight_decay:
        change = change + rule.weight_decay * before.parameter
    return before.parameter - rate * _trust(kit, before.parameter, change) * change, after


def _trust(kit: Any, parameter: Any, change: Any) -> Any:
    """Return the norm of a parameter beside its change's; 1 where one of them is 0."""
    one, held, moved = kit.number(1.0, parameter), norm(kit, parameter), norm(kit, change)
    return kit.select((held > 0.0) & (moved > 0.0), held / kit.select(moved > 0.0, moved, one), one)


def sgd(_kit: Any, rule: Optimizer, before: Before, rates: Any) -> Made:
    """SGD with coupled decay and momentum (Sutskever et al., 2013)."""
    slope, momentum = _slope(rule, before), rule.momentum
    if not momentum:
        return before.parameter - rates[0] * slope, {}
    velocity = momentum * before.held["velocity"] + slope
    change = slope + momentum * velocity if rule.nesterov else velocity
    return before.parameter - rates[0] * change, {"velocity": velocity}


def lion(kit: Any, rule: Optimizer, before: Before, rates: Any) -> Made:
    """Lion (Chen et al., 2023, algorithm 2)."""
    (first, second), moment, gradient = rule.betas, before.held["first"], before.gradient
    direction = kit.sign(first * moment + (1.0 - first) * gradient)
    after = {"first": second * moment + (1.0 - second) * gradient}
    return shrunk(rule, before.parameter, rates[0]) - rates[0] * direction, after


def rmsprop(kit: Any, rule: Optimizer, before: Before, rates: Any) -> Made:
    """RMSProp (Tieleman and Hinton, 2012), with the rate outside its velocity."""
    slope = _slope(rule, before)
    after = {"second": rule.alpha * before.held["second"] + (1.0 - rule.alpha) * slope * slope}
    change = slope / (kit.sqrt(after["second"]) + rule.eps)
    if rule.momentum > 0.0:
        change = after["velocity"] = rule.momentum * before.held["velocity"] + change
    return before.parameter - rates[0] * change, after


def adagrad(kit: Any, rule: Optimizer, before: Before, rates: Any) -> Made:
    """Adagrad (Duchi et al., 2011)."""
    slope = _slope(rule, before)
    second = before.held["second"] + slope * slope
    return before.parameter - rates[0] * slope / (kit.sqrt(second) + rule.eps), {"second": second}


def _slope(rule: Optimizer, before: Before) -> Any:
    """Return the gradient with coupled decay."""
    return before.gradient + rule.weight_decay * before.parameter if rule.weight_decay else before.gradient


def shrunk(rule: Optimizer, parameter: Any, rate: Any) -> Any:
    """Return a parameter after decoupled decay."""
    return parameter * (1.0 - rate * rule.weight_decay) if rule.weight_decay else parameter


def norm(kit: Any, tensor: Any) -> Any:
    """Return the square root of the sum of a tensor's squares."""
    return kit.sqrt(kit.total(tensor * tensor, range(len(tensor.shape))))


def _moments(rule: Optimizer, before: Before) -> Held:
    (first, second), gradient = rule.betas, before.gradient
    return {
        "first": first * before.held["first"] + (1.0 - first) * gradient,
        "second": second * before.held["second"] + (1.0 - second) * gradient * gradient,
    }

"""ONNX's optimizer operators, written once: their arithmetic is the same on every framework."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


class Functions(NamedTuple):
    """What a framework calls: `where(condition, tensor, tensor)`, `cast(tensor, like)` to another tensor's dtype."""

    sqrt: Callable[[Any], Any]
    expm1: Callable[[Any], Any]
    where: Callable[[Any, Any, Any], Any]
    cast: Callable[[Any, Any], Any]


def adagrad(inputs: Inputs, attributes: Attributes, functions: Functions) -> tuple[Any, ...]:
    """Return what an `Adagrad` node makes: the new tensors, then their sums of squares.

    Args:
        inputs: Learning rate, update count, then tensors, their gradients and their sums of squares.
        attributes: The node's.
        functions: The framework's.
    """
    made = []
    for tensor, gradient, squares in _columns(inputs, 3):
        rate, count = (functions.cast(value, tensor) for value in inputs[:2])
        slope = _regularized(tensor, gradient, attributes)
        total = squares + slope * slope
        rate = rate / (1.0 + count * attributes.get("decay_factor", 0.0))
        step = rate * slope / (functions.sqrt(total) + attributes.get("epsilon", 1e-6))
        made.append((tensor - step, total))
    return _joined(made)


def momentum(inputs: Inputs, attributes: Attributes, functions: Functions) -> tuple[Any, ...]:
    """Return what a `Momentum` node makes: the new tensors, then their momenta.

    Args:
        inputs: Learning rate, update count, then tensors, their gradients and their momenta.
        attributes: The node's.
        functions: The framework's.
    """
    made, kept = [], attributes["alpha"]
    for tensor, gradient, velocity in _columns(inputs, 3):
        rate, count = (functions.cast(value, tensor) for value in inputs[:2])
        slope = _regularized(tensor, gradient, attributes)
        new = kept * velocity + functions.where(count > 0, attributes["beta"] * slope, slope)
        step = slope + kept * new if attributes["mode"] == "nesterov" else new
        made.append((tensor - rate * step, new))
    return _joined(made)


def adam(inputs: Inputs, attributes: Attributes, functions: Functions) -> tuple[Any, ...]:
    """Return what an `Adam` node makes: the new tensors, then their means, then their mean squares.

    Args:
        inputs: Learning rate, update count, then tensors, their gradients, means and mean squares.
        attributes: The node's.
        functions: The framework's.
    """
    made = []
    alpha, beta = attributes.get("alpha", 0.9), attributes.get("beta", 0.999)
    for tensor, gradient, mean, square in _columns(inputs, 4):
        slope = _regularized(tensor, gradient, attributes)
        first = alpha * mean + (1.0 - alpha) * slope
        second = beta * square + (1.0 - beta) * (slope * slope)
        rate, count = (functions.cast(value, tensor) for value in inputs[:2])
        counted = functions.where(count > 0, count, count + 1.0)
        corrected = functions.sqrt(_share(beta, counted, functions)) / _share(alpha, counted, functions)
        rate = functions.where(count > 0, rate * corrected, rate)
        moved = tensor - rate * (first / (functions.sqrt(second) + attributes.get("epsilon", 1e-6)))
        made.append(((1.0 - attributes.get("norm_coefficient_post", 0.0)) * moved, first, second))
    return _joined(made)


def _share(kept: float, count: Any, functions: Functions) -> Any:
    """Return `1 - kept ** count`, without cancellation where `kept` is near 1."""
    return -functions.expm1(count * math.log(kept)) if kept > 0 else count / count


def _regularized(tensor: Any, gradient: Any, attributes: Attributes) -> Any:
    share = attributes.get("norm_coefficient", 0.0)
    return gradient if share == 0 else share * tensor + gradient


def _columns(inputs: Inputs, kinds: int) -> Sequence[tuple[Any, ...]]:
    """Return the tensors that belong together: all of one kind come before all of the next."""
    held = inputs[2:]
    count = len(held) // kinds
    return list(zip(*(held[kind * count : (kind + 1) * count] for kind in range(kinds))))


def _joined(made: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(tensor for kind in zip(*made) for tensor in kind)

"""The update rules that see rows and columns, Adafactor and Muon; as in `optimizer_rules.py`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .optimizer_rules import norm, shrunk

if TYPE_CHECKING:
    from .optimizer_rules import Before, Held, Made
    from .recipe import Optimizer

# The polynomial of Muon's Newton-Schulz steps (Jordan, 2024), and the least norm that a matrix is divided by.
_POLYNOMIAL, _STEPS, _LEAST_NORM = (3.4445, -4.7750, 2.0315), 5, 1e-7
# The size of Muon's update beside AdamW's (Liu et al., 2025).
_SIZE = 0.2


def adafactor(kit: Any, rule: Optimizer, before: Before, rates: Any) -> Made:
    """Adafactor (Shazeer and Stern, 2018, algorithm 4), without momentum."""
    rate, share, slowest = rates
    parameter = before.parameter
    after, square = _mean_squares(kit, rule, before, share)
    # The root is limited rather than the square, which float32 may not have.
    change = before.gradient / kit.larger(kit.sqrt(square), kit.number(rule.eps, square))
    size = _root_mean_square(kit, change) / rule.clip_threshold
    least = kit.number(rule.eps2, parameter)
    step = kit.larger(_root_mean_square(kit, parameter), least) * kit.smaller(rate, slowest)
    scale = step / kit.larger(size, kit.number(1.0, size))
    return shrunk(rule, parameter, rate) - scale * change, after


def _mean_squares(kit: Any, rule: Optimizer, before: Before, share: Any) -> tuple[Held, Any]:
    """Return Adafactor's slots after an update, and the mean square of each element that they stand for."""
    held, square = before.held, before.gradient * before.gradient
    if "second" in held:
        second = (1.0 - share) * held["second"] + share * square
        return {"second": second}, second
    rank = len(square.shape)
    after = {
        slot: (1.0 - share) * held[slot] + share * _mean(kit, square, axis)
        for slot, axis in (("rows", rank - 1), ("columns", rank - 2))
    }
    mean = _mean(kit, after["rows"], rank - 2)
    return after, after["rows"] * after["columns"] / kit.larger(mean, kit.number(rule.eps, mean))


def _mean(kit: Any, tensor: Any, axis: int) -> Any:
    """Return the mean along an axis, which stays with size 1."""
    kept = [1 if place == axis else size for place, size in enumerate(tensor.shape)]
    return kit.shaped(kit.total(tensor, (axis,)), kept) / float(tensor.shape[axis])


def _root_mean_square(kit: Any, tensor: Any) -> Any:
    return norm(kit, tensor) / math.sqrt(math.prod(tensor.shape))


def muon(kit: Any, rule: Optimizer, before: Before, rates: Any) -> Made:
    """Muon (Jordan, 2024), scaled to AdamW's size (Liu et al., 2025)."""
    after, direction = _averaged(rule, before)
    size = _SIZE * math.sqrt(max(before.parameter.shape))
    return shrunk(rule, before.parameter, rates[0]) - rates[0] * size * _orthogonal(kit, direction), after


def _averaged(rule: Optimizer, before: Before) -> tuple[Held, Any]:
    momentum, gradient = rule.momentum, before.gradient
    if not momentum:
        return {}, gradient
    velocity = momentum * before.held["velocity"] + (1.0 - momentum) * gradient
    ahead = momentum * velocity + (1.0 - momentum) * gradient
    return {"velocity": velocity}, ahead if rule.nesterov else velocity


def _orthogonal(kit: Any, matrix: Any) -> Any:
    """Return nearly the nearest matrix with orthogonal rows, or columns where there are fewer of them."""
    high = matrix.shape[0] > matrix.shape[1]
    wide = kit.turned(matrix, (1, 0)) if high else matrix
    size = norm(kit, wide)
    wide = wide / kit.larger(size, kit.number(_LEAST_NORM, size))
    one, three, five = _POLYNOMIAL
    for _ in range(_STEPS):
        square = kit.matmul(wide, kit.turned(wide, (1, 0)))
        wide = one * wide + kit.matmul(three * square + five * kit.matmul(square, square), wide)
    return kit.turned(wide, (1, 0)) if high else wide

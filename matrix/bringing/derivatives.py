"""Does a model's gradient belong to what it computes? ONNX carries the computation only.

A detached tensor, a part under `no_grad` or a gradient of the user's own leaves no trace in an export: the program
would train by the derivative of what is computed. So both are compared, for one parameter
after the other, along one direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

STEPS = (1e-5, 1e-3, 1e-2)
"""Sizes of a step, in units of a parameter's own size: one for float64, two for what computes in float32 inside."""


def moved(values: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    """Return values a little off, in float64: fresh ones such as zeros often lie where a derivative jumps."""
    draws = np.random.default_rng(0)
    return {name: np.asarray(v + 0.01 * _unit(v) * draws.standard_normal(v.shape)) for name, v in values.items()}


def draw(number: int, shape: Sequence[int]) -> NDArray[np.float64]:
    """Return fixed numbers to multiply an output by before it is summed, so that no part of it cancels."""
    return np.asarray(np.random.default_rng(number).standard_normal(tuple(shape)))


def check_gradients(
    source: str,
    loss: Callable[[str, NDArray[np.float64]], float],
    values: Mapping[str, NDArray[np.float64]],
    gradients: Mapping[str, NDArray[Any]],
    *,
    rough: bool = False,
) -> None:
    """Compare gradients with difference quotients.

    Args:
        source: What the user called the model.
        loss: Computes a scalar with one parameter, by its name, in place of its value.
        values: Every trained parameter.
        gradients: The framework's gradient of the scalar.
        rough: Whether the scalar is computed in float32, so that only bigger differences can be told from rounding.

    Raises:
        InputError: They differ by more than rounding; names the parameters.
    """
    directions = {name: np.random.default_rng(1).choice([-1.0, 1.0], v.shape) for name, v in values.items()}
    slopes = {name: float(np.sum(gradients[name] * directions[name])) for name in values}
    share, small = (0.1, 0.02) if rough else (0.01, 1e-6)
    floor = small * max((abs(slope) for slope in slopes.values()), default=0.0)
    faults = []
    for name, value in values.items():
        line = _Line(loss, name, value, directions[name])
        quotients = [line.quotient(step) for step in STEPS]
        if not any(
            abs(slopes[name] - quotient) <= share * max(abs(slopes[name]), abs(quotient)) + floor
            for quotient in quotients
        ):
            faults.append(Fault(name, _say(slopes[name], quotients[0])))
    if faults:
        raise InputError(source, faults)


@dataclass(frozen=True)
class _Line:
    """The scalar along one direction of one parameter."""

    loss: Callable[[str, NDArray[np.float64]], float]
    name: str
    value: NDArray[np.float64]
    direction: NDArray[np.float64]

    def quotient(self, step: float) -> float:
        distance = step * _unit(self.value)
        return (self._at(distance) - self._at(-distance)) / (2 * distance)

    def _at(self, distance: float) -> float:
        return self.loss(self.name, np.asarray(self.value + distance * self.direction))


def _unit(value: NDArray[Any]) -> float:
    return max(float(np.sqrt(np.mean(np.square(value, dtype=np.float64)))), 0.01) if value.size else 1.0


def _say(slope: float, quotient: float) -> str:
    what = f"the model's gradient along one direction is {slope:.4g}, and what it computes changes by {quotient:.4g}"
    why = "a detached tensor, a part without gradient, or a gradient of your own is not carried by ONNX"
    return f"{what}: {why}; train without it, or export with check=False"

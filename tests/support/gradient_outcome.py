"""A framework's gradients, and how far they are from central differences; needs numpy and the framework only."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stackproof.backends.program import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

STEP = 1e-5
# Below this a slope is held to an absolute difference: the rounding of values near 1, over twice the step, is 1e-11.
_FLOOR = 1e-4


@dataclass(frozen=True)
class GradientCase:
    """An operator application whose gradients are checked, in float64.

    Attributes:
        name: Unique among the cases.
        operator: What it is about.
        program: A program, as `dump` writes it.
        inputs: Arrays, `Narrow` arrays, lists of them or None by name.
        directions: For each input with a gradient the direction along which a difference is taken.
        cotangents: A weight per element of each output with a gradient, by the output's name.
        slopes: The central difference of the weighted sum along each direction by ONNX's reference evaluator; empty
            where the reference is no judge in float64, and the rule's own forward pass takes its place.
        values: The outputs that the evaluator makes; given where ONNX's suite has no case that holds the rule to them.
    """

    name: str
    operator: str
    program: bytes
    inputs: Mapping[str, Any]
    directions: Mapping[str, np.ndarray]
    cotangents: Mapping[str, np.ndarray]
    slopes: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """A framework's gradients by name of input, and how far each, and each output with a known value, is off."""

    gradients: Mapping[str, np.ndarray]
    errors: Mapping[str, float]


def measure(module: ModuleType, case: GradientCase) -> Measured:
    """Return a framework's gradients of a case.

    Args:
        module: A target's `evaluate` module.
        case: What to differentiate.

    Raises:
        StackproofError: The framework refuses the program.
        AssertionError: A gradient has another dtype or shape than its input.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where a mask is minus infinity, a difference is not a number
        evaluation = module.Evaluation(load(case.program))
        found = evaluation.gradients(case.inputs, list(case.directions), case.cotangents)
        slopes = case.slopes or central_differences(evaluation.run, case)
    for name, gradient in found.items():
        given = case.inputs[name]
        assert (gradient.dtype, gradient.shape) == (given.dtype, given.shape), (name, gradient.dtype, gradient.shape)
    errors = {name: _distance(case, name, found[name], slopes[name]) for name in case.directions}
    made = evaluation.run(case.inputs) if case.values else {}
    return Measured(found, {**errors, **{name: disagreement(made[name], want) for name, want in case.values.items()}})


def central_differences(
    run: Callable[[Mapping[str, Any]], Mapping[str, np.ndarray]], case: GradientCase
) -> dict[str, float]:
    """Return the slope of the outputs' weighted sum along each direction."""
    return {
        name: (_ahead(run, case, name, STEP) - _ahead(run, case, name, -STEP)) / (2 * STEP) for name in case.directions
    }


def _ahead(
    run: Callable[[Mapping[str, Any]], Mapping[str, np.ndarray]], case: GradientCase, name: str, step: float
) -> float:
    made = run({**case.inputs, name: case.inputs[name] + step * case.directions[name]})
    return float(sum(np.sum(made[output] * weight) for output, weight in case.cotangents.items()))


def _distance(case: GradientCase, name: str, gradient: np.ndarray, slope: float) -> float:
    """Return how far a gradient along the direction is from the slope, relatively; infinite where it is no number."""
    parts = gradient * case.directions[name]
    along, size = float(np.sum(parts)), float(np.sum(np.abs(parts)))
    error = abs(along - slope) / max(abs(slope), 0.01 * size, _FLOOR)
    return error if np.isfinite(error) else float("inf")


def disagreement(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference of two arrays of one shape, relative to the largest element or to 1e-3."""
    if one.shape != other.shape:
        return float("inf")
    size = max(float(np.max(np.abs(one), initial=0.0)), float(np.max(np.abs(other), initial=0.0)), 1e-3)
    error = float(np.max(np.abs(one - other), initial=0.0)) / size
    return error if np.isfinite(error) else float("inf")

"""The gradients of differentiable operators: against central differences, and each framework's against the others'."""

from __future__ import annotations

import itertools
import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from differentiable import differentiable
from gradient_cases import gradient_cases
from gradient_outcome import disagreement
from suite_runs import Worker, evaluate, write_cases

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradient_outcome import GradientCase, Measured

# Relative, in float64: of a central difference with its own error, and between frameworks.
TOLERANCE, AGREEMENT = 1e-6, 1e-10


@dataclass(frozen=True)
class Checked:
    """What was found of one operator.

    Attributes:
        cases: How many cases it has.
        errors: By framework the largest distance of a gradient from its central difference; infinite where one failed.
        apart: The largest difference between two frameworks' gradients.
        failures: What failed, by framework and case.
    """

    cases: int
    errors: Mapping[str, float]
    apart: float
    failures: tuple[str, ...]


def check_gradients(pythons: Mapping[str, str], operators: Iterable[str]) -> dict[str, Checked]:
    """Measure the gradients of operators on each framework, given by its Python."""
    cases = {operator: gradient_cases(operator) for operator in operators}
    by_name = {case.name: case for found in cases.values() for case in found}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_cases(folder, by_name)
        failures, measured = {}, {}
        for target, python in pythons.items():
            found = dict(evaluate(Worker(target, python, folder, ("--gradients",)), list(by_name)))
            failures[target] = {case: why for case, why in found.items() if why}
            measured[target] = {case: _read(folder / f"{case}.{target}") for case, why in found.items() if not why}
    return {operator: _checked(found, failures, measured) for operator, found in cases.items()}


def _read(path: Path) -> Measured:
    return pickle.loads(path.read_bytes())  # noqa: S301 - written by the worker that was started for it


def _checked(
    cases: Sequence[GradientCase],
    failures: Mapping[str, Mapping[str, str]],
    measured: Mapping[str, Mapping[str, Measured]],
) -> Checked:
    names = [case.name for case in cases]
    errors = {target: _largest_error(names, found) for target, found in measured.items()}
    pairs = itertools.combinations(measured.values(), 2)
    apart = max(
        (_apart(one[name], other[name]) for one, other in pairs for name in names if name in one and name in other),
        default=0.0,
    )
    lines = [
        f"{name} on {target}: {found[name]}" for target, found in failures.items() for name in names if name in found
    ]
    return Checked(len(cases), errors, apart, tuple(lines))


def _largest_error(names: Sequence[str], measured: Mapping[str, Measured]) -> float:
    if not set(names) <= set(measured) or not names:
        return float("inf")
    return max(error for name in names for error in measured[name].errors.values())


def _apart(one: Measured, other: Measured) -> float:
    return max(disagreement(gradient, other.gradients[name]) for name, gradient in one.gradients.items())


def gradient_figures(checked: Mapping[str, Checked]) -> tuple[dict[str, float], list[list[str]]]:
    """Return the figures over all operators, and the table by operator."""
    targets = list(next(iter(checked.values())).errors)
    rows = [["operator", "cases", *(f"{target} from differences" for target in targets), "between frameworks"]]
    for operator, found in checked.items():
        errors = [f"{found.errors[target]:.1e}" for target in targets]
        rows.append([operator, str(found.cases), *errors, f"{found.apart:.1e}"])
    figures: dict[str, float] = {"operators": len(checked), "gradient_cases": sum(e.cases for e in checked.values())}
    for target in targets:
        figures[f"{target}_operators_right"] = sum(e.errors[target] < TOLERANCE for e in checked.values())
        figures[f"{target}_largest_error"] = max(e.errors[target] for e in checked.values())
    figures["largest_disagreement"] = max(e.apart for e in checked.values())
    return figures, rows


def gradient_limits(figures: Mapping[str, float], targets: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return what the figures must reach."""
    right = {f"{target}_operators_right": {"at_least": figures["operators"]} for target in targets}
    return {**right, "largest_disagreement": {"at_most": AGREEMENT}}


def chosen_operators(op: str, *, quick: bool) -> list[str]:
    """Return the differentiable operators that are asked for: all, named ones, or a sample."""
    known = sorted(differentiable())
    if op:
        return [name for name in known if name in op.split(",")]
    return known[::20] if quick else known

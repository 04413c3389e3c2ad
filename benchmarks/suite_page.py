"""Writes docs/operators.md from what was measured."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from differentiable import NOT_DIFFERENTIABLE
from expected_failures import read_expected
from gradient_cases import OWN_FORWARD
from onnx import __version__ as onnx_version
from suite_cases import LOSS_PREFIXES, OPTIMIZERS, collected, counted, exclusion, operator_of, operators_of
from suite_gradients import TOLERANCE

from stackproof.matrix.importing.supported import operators

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from suite_gradients import Checked

    Outcomes = Mapping[str, Mapping[str, str]]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operators.md"
_NAMES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}
_PACKAGES = {"torch": ("torch",), "tensorflow": ("tensorflow-cpu", "tensorflow"), "jax": ("jax",)}
_VERSION = """
import sys, importlib.metadata as metadata
print(next(found.version for found in metadata.distributions() if found.name.replace("_", "-") in sys.argv))
"""


def write_page(
    outcomes: Outcomes, figures: Mapping[str, float], checked: Mapping[str, Checked], pythons: Mapping[str, str]
) -> None:
    """Write the page. What ends in `Last` is no operator of ONNX, but one of its operators with channels last.

    Args:
        outcomes: By framework why each case that counts fails, or an empty string.
        figures: The figures of the suite and of the gradients.
        checked: What was found of the gradients, by operator.
        pythons: The Python of each framework, which is asked for its version.
    """
    parts = (_head(outcomes, figures, pythons), _operators(outcomes, checked), _failing(), _left_out(), _references())
    PAGE.write_text("\n".join(line for part in parts for line in part) + "\n", encoding="utf-8")


def _head(outcomes: Outcomes, figures: Mapping[str, float], pythons: Mapping[str, str]) -> Iterator[str]:
    versions = ", ".join(f"{_NAMES[target]} {_version(target, python)}" for target, python in pythons.items())
    yield from (
        "# Operators",
        "",
        "Which operators of ONNX each framework runs and differentiates, by ONNX's own suite: the node cases that come",
        "with the `onnx` package. This page is written by",
        "",
        "    python benchmarks/onnx_suite.py --write-docs",
        "",
        "A case is imported as a user's own model is, run by the framework, and held to the suite's own tolerance,",
        "dtypes and shapes included. A refusal and a crash are failures. Where an input is a sequence or an optional,",
        "which the import refuses since a batch holds tensors only, the graph is run as it is.",
        "",
        f"Measured with onnx {onnx_version}, {versions}, on the CPU.",
        "",
    )
    yield from _shares(outcomes, figures)
    yield from (
        "",
        f"{len(collected())} cases are in the suite; {len(counted())} of them count. [Those that do not](#not-counted)",
        "are named below; the last column has them as failures.",
        "",
        "| gradients, in float64 | |",
        "| --- | --- |",
        f"| operators that have a gradient | {figures['operators']:.0f} |",
        f"| cases | {figures['gradient_cases']:.0f} |",
    )
    for target in outcomes:
        right, largest = figures[f"{target}_operators_right"], figures[f"{target}_largest_error"]
        words = f"operators within {TOLERANCE:g} of central differences, and the largest distance"
        yield f"| {_NAMES[target]}: {words} | {right:.0f}, {largest:.1e} |"
    yield f"| largest difference between two frameworks, relative | {figures['largest_disagreement']:.1e} |"


def _shares(outcomes: Outcomes, figures: Mapping[str, float]) -> Iterator[str]:
    losses = sum(name.startswith(LOSS_PREFIXES) for name in counted())
    optimizers = sum(bool(OPTIMIZERS & operators_of(case)) for case in counted().values())
    heads = (f"cases passed of {len(counted())}", "share", f"losses, of {losses}", f"optimizers, of {optimizers}")
    yield f"| framework | {' | '.join(heads)} | share of all {len(collected())} |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for target in outcomes:
        yield (
            f"| {_NAMES[target]} | {figures[f'{target}_passed']:.0f} | {figures[f'{target}_share']:.2%} "
            f"| {figures[f'{target}_losses']:.0f} | {figures[f'{target}_optimizers']:.0f} "
            f"| {figures[f'{target}_share_of_all']:.2%} |"
        )
    yield (
        f"| all three | {figures['jointly_passed']:.0f} | {figures['jointly_share']:.2%} | | "
        f"| {figures['jointly_share_of_all']:.2%} |"
    )


def _version(target: str, python: str) -> str:
    command = [python, "-c", _VERSION, *_PACKAGES[target]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _operators(outcomes: Outcomes, checked: Mapping[str, Checked]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for name, case in counted().items():
        groups.setdefault(operator_of(case), []).append(name)
    yield from (
        "",
        "## By operator",
        "",
        "How many pass of the cases that are about an operator, those that write its definition out in other",
        "operators among them, and how far its gradient is from central differences at most, over the frameworks.",
        "The differences are of ONNX's reference evaluator, or, with a star, of the rule's own forward pass.",
        "`no case`: the suite has none.",
        "",
        f"| operator | {' | '.join(_NAMES[target] for target in outcomes)} | gradient |",
        f"| --- | {' | '.join('---' for _ in outcomes)} | --- |",
    )
    known = {name for target in outcomes for name in operators(target) if not name.endswith("Last")}
    for operator in sorted({*groups, *checked, *known}):
        names = groups.get(operator, [])
        cells = [_cell(found, names) for found in outcomes.values()]
        yield f"| {operator} | {' | '.join(cells)} | {_gradient(operator, checked)} |"


def _cell(found: Mapping[str, str], names: list[str]) -> str:
    return f"{sum(not found[name] for name in names)} of {len(names)}" if names else "no case"


def _gradient(operator: str, checked: Mapping[str, Checked]) -> str:
    if operator not in checked:
        return f"none: {NOT_DIFFERENTIABLE[operator]}"
    wrong = [target for target, error in checked[operator].errors.items() if not error < TOLERANCE]
    if wrong:
        return f"wrong on {', '.join(_NAMES[target] for target in wrong)}"
    return f"{max(checked[operator].errors.values()):.0e}{'*' if operator in OWN_FORWARD else ''}"


def _failing() -> Iterator[str]:
    yield from ("", "## What fails", "")
    entries = read_expected()
    if not entries:
        yield "Nothing."
        return
    yield from (
        "All of it is in [benchmarks/expected_failures.toml](../benchmarks/expected_failures.toml): an unlisted",
        "failure is an error, and so is a listed case that passes.",
        "",
        "| case | on | why |",
        "| --- | --- | --- |",
    )
    for entry in entries:
        where = "all" if len(entry.frameworks) == len(_NAMES) else ", ".join(_NAMES[name] for name in entry.frameworks)
        yield f"| `{entry.case}` | {where} | {entry.reason} |"


def _left_out() -> Iterator[str]:
    yield from ("", "## Not counted", "")
    reasons: dict[str, list[str]] = {}
    for name, case in collected().items():
        if why := exclusion(case):
            reasons.setdefault(why, []).append(f"`{name}`")
    for why, names in reasons.items():
        yield f"- {len(names)} cases: the model {why}: {', '.join(names)}"


def _references() -> Iterator[str]:
    yield from (
        "",
        "## The gradient's reference",
        "",
        "With a star, ONNX's reference evaluator is no judge of the gradient in float64:",
        "",
        "| operator or case | why |",
        "| --- | --- |",
    )
    for name, why in sorted(OWN_FORWARD.items()):
        yield f"| {name} | {why} |"

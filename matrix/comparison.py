"""One spec on several frameworks, held against each other step by step."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..compat.cell import Cell
from ..compat.errors import Fault, InputError
from ..compat.pins import read_backend
from ..containers.venv import cache_folder
from .assemble import Certified, assemble
from .config import Matrix, ThroughputSettings
from .importing.supported import check_rules
from .judge.reference import AGREEMENT
from .lanes import run_lanes
from .site import open_site
from .store import Store, sole_use

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..backends.program import Program
    from ..backends.spec import Spec
    from .site import Settings

SCHEMA_VERSION = 1


def compare(spec: Spec, names: Sequence[str], settings: Settings) -> dict[str, Any]:
    """Train a spec on several frameworks and say how far they agree.

    What was run before for the same spec, stacks and machine is reused.

    Args:
        spec: The spec.
        names: Backends, such as `torch` or `jax==0.9.2`.
        settings: Progress, parallelism and reuse.

    Returns:
        Tables of the contract, and in `float64` the agreement of the reference runs.

    Raises:
        InputError: No backends, an unknown one, or one named twice; or a model file that cannot be trained.
        UnsupportedError: A backend has no rule for an operator of the model.
        OutsideError: The cache folder cannot be used.
    """
    if spec.workload is not None:
        what = "runs a command of its own, and this compares one program on several frameworks"
        raise InputError(spec.name, [Fault("workload", f"{what}: use train, or certify over several stacks")])
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    stacks = [read_backend(name, python) for name in names]
    if not stacks or len(set(stacks)) < len(stacks):
        raise InputError("--backends", [Fault("", "name at least one backend, and each once, such as torch,jax")])
    start, cells = time.monotonic(), [Cell(stack, spec.name) for stack in stacks]
    matrix = Matrix(spec.name, spec.name, (spec,), {"python": (python,)}, throughput=ThroughputSettings(rounds=0))
    folder = cache_folder() / "compare"
    with sole_use(folder, "set STACKPROOF_CACHE to another folder"), Store(folder) as store:
        site = open_site(folder, store, matrix, replace(settings, adapt=_checked({s.framework for s in stacks})))
        with site.reporter:
            site.reporter.plan(2 * len(stacks) + len(cells))
            records = run_lanes(site, cells, dict.fromkeys(cells))
        return _tables(assemble(Certified(matrix, site, records, time.monotonic() - start)))


def _checked(targets: Collection[str]) -> Callable[[Program], Program]:
    """Return what refuses a program with an operator that a target has no rule for."""

    def check(program: Program) -> Program:
        check_rules(program, sorted(targets))
        return program

    return check


def _tables(report: Mapping[str, Any]) -> dict[str, Any]:
    reference = report["specs"][0]["reference"]
    backends = {_name(cell, report["cells"]): _backend(cell) for cell in report["cells"]}
    return {
        "schema_version": SCHEMA_VERSION,
        "spec": report["specs"][0]["name"],
        "reference": reference,
        "backends": backends,
        "float64": {"allowed": AGREEMENT, "largest": reference["agreement"]},
        "verdict": _verdict(backends),
    }


def _name(cell: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]) -> str:
    """Return the framework's name, or the stack where several of one framework are compared."""
    framework: str = cell["stack"]["framework"]
    alone = sum(other["stack"]["framework"] == framework for other in cells) == 1
    return framework if alone else f"{cell['stack']['package']}=={cell['stack']['version']}"


def _backend(cell: Mapping[str, Any]) -> dict[str, Any]:
    checks = {check["name"]: check for check in cell["checks"]}
    curves = cell["curves"] or {"loss": [], "reference_loss": [], "loss_allowed": [], "grad_norm": []}
    return {
        "version": cell["stack"]["version"],
        "losses": curves["loss"],
        "grad_norms": curves["grad_norm"],
        "max_relative_difference": _difference(curves),
        "within": checks.get("trajectory", {}).get("outcome") == "pass",
        "envelope": curves["loss_allowed"],
        "float64": {
            "max_relative_difference": checks.get("reference", {}).get("measured"),
            "within": checks.get("reference", {}).get("outcome") == "pass",
        },
        "mode": cell["mode"],
        "verdict": cell["verdict"],
        "reasons": cell["reasons"],
    }


def _difference(curves: Mapping[str, Sequence[float | None]]) -> float | None:
    """Return the largest relative difference of the losses to the reference; None where one is not finite."""
    pairs = list(zip(curves["loss"], curves["reference_loss"], strict=True))
    if not pairs or any(mine is None or not reference for mine, reference in pairs):
        return None
    return max(abs(mine / reference - 1.0) for mine, reference in pairs if mine is not None and reference)


def _verdict(backends: Mapping[str, Mapping[str, Any]]) -> str:
    verdicts = {backend["verdict"] for backend in backends.values()}
    if verdicts <= {"certified"}:
        return "agree"
    return "undetermined" if "untested" in verdicts and not verdicts & {"incorrect", "broken"} else "disagree"

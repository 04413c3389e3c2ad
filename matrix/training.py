"""One spec on one framework, once."""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..compat.cell import Cell
from ..compat.errors import Fault, InputError, OutsideError, StackproofError, UnsupportedError
from ..compat.pins import read_backend
from ..containers.engine.connect import connect
from ..containers.image import image_of
from ..containers.venv import cache_folder, environment_of
from .config import Matrix, RunSettings
from .going_on import Checkpoints
from .importing.supported import check_rules
from .jobs import plan_measured
from .kept import keep_run, start_from
from .launch import run_worker
from .locking import lock_stack, make_environment
from .records import Failure
from .running import collect, failure_of, prepare
from .site import Settings, open_site
from .store import Store, outside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..backends.program import Program
    from ..backends.spec import Spec
    from ..compat.cell import Stack
    from .records import Home, Made
    from .site import Site

SCHEMA_VERSION = 1
T = TypeVar("T")


class FailedError(StackproofError):
    """The run itself failed: a crash, a hang, a lack of memory, a wheel that does not exist."""

    exit_code = 1


@dataclass(frozen=True)
class Run:
    """One run to be made.

    Attributes:
        spec: The spec.
        backend: A backend, such as `torch` or `torch==2.14.1`.
        environment: A venv of the user's own, or the name of an image; None for a venv made for the backend.
        device: `auto`, `cpu` or `cuda`.
        threads: CPU threads.
        engine: `venv`, or the engine that has the image: `docker` or `podman`.
        weights: A safetensors file to start from; None for the spec's own initial tensors.
        names: What the file calls its tensors: one of `exporting.names.CONVENTIONS`, or empty where it says so itself.
        keep: Folder that the trained program is kept in, for `export`; None to keep nothing.
        checkpoints: What is kept on the way.
    """

    spec: Spec
    backend: str
    environment: Path | str | None = None
    device: str = "auto"
    threads: int = 1
    engine: str = "venv"
    weights: Path | None = None
    names: str = ""
    keep: Path | None = None
    checkpoints: Checkpoints = field(default_factory=Checkpoints)


def train(run: Run, settings: Settings | None = None) -> dict[str, Any]:
    """Train a spec once.

    Returns:
        Tables of the contract's `train --json`.

    Raises:
        InputError: An unknown backend, or no venv or image where one was named.
        UnsupportedError: The spec asks for what the framework or the device cannot do.
        FailedError: The run failed; the message says how.
        OutsideError: Package index, engine, network or disk failed.
    """
    _check_command(run)
    run.checkpoints.check(engine=run.engine, has_command=run.spec.workload is not None)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    stack = read_backend(run.backend, python)
    matrix = Matrix(
        run.spec.name, run.spec.name, (run.spec,), {}, run=RunSettings(device=run.device, threads=run.threads)
    )
    cache = cache_folder() / "train"
    with outside(cache):
        cache.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=cache))
    try:
        with Store(folder) as store:
            site = open_site(folder, store, matrix, _adapted(run, settings or Settings()))
            with site.reporter:
                site.reporter.plan(1 if run.environment is not None else 3)
                return _train(site, stack, run)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_command(run: Run) -> None:
    """Refuse what does not go together with a command of the spec's own.

    Raises:
        InputError: It is to run in an image, from given weights, or to leave a trained program.
    """
    if run.spec.workload is None:
        return
    why = {
        "--engine": (run.engine != "venv", f"runs in a venv only, not in an image of {run.engine}"),
        "--weights": (run.weights is not None, "has tensors of its own: let its command read them"),
        "--out": (run.keep is not None, "has no program to keep: let its command write what is to be kept"),
    }
    wrong = {option: what for option, (given, what) in why.items() if given}
    faults = [Fault(option, f"a spec with [workload] {what}; leave {option} out") for option, what in wrong.items()]
    if faults:
        raise InputError(run.spec.name, faults)


def _train(site: Site, stack: Stack, run: Run) -> dict[str, Any]:
    environment = _home(site, stack, run)
    cell = Cell(stack, run.spec.name)
    request = prepare(site, cell, environment, "run", [plan_measured(run.spec)])
    run.checkpoints.ask(request)
    site.reporter.start("run", cell.id)
    outcome = run_worker(request, site.cancel)
    if not outcome.ok:
        raise _error(failure_of(outcome))
    site.reporter.finish("run", cell.id, outcome.seconds, reused=False)
    document = collect(site, request, outcome)
    made = _tables(document, run)
    if run.keep is not None:
        keep_run(run.keep, site.programs[run.spec.name].path, document["runs"][0], site.store.blob, made)
    return made


def _adapted(run: Run, settings: Settings) -> Settings:
    """Return settings under which every program starts from the run's weights and has a rule for each operator."""
    target = read_backend(run.backend, "").framework

    def adapt(program: Program) -> Program:
        check_rules(program, [target])
        return program if run.weights is None else start_from(program, run.weights, run.names)

    return replace(settings, adapt=adapt)


def _home(site: Site, stack: Stack, run: Run) -> Home:
    if run.engine == "venv":
        return environment_of(run.environment) if run.environment is not None else _environment(site, stack)
    if run.environment is None:
        raise InputError("--engine", [Fault(run.engine, "runs in an image: name one with --env")])
    return image_of(connect(run.engine), str(run.environment))


def _environment(site: Site, stack: Stack) -> Home:
    return _required(make_environment(site, stack, _required(lock_stack(site, stack))))


def _required(made: Made[T]) -> T:
    if made.value is None or made.failure is not None:
        raise _error(made.failure or Failure("outside", "nothing was made", outside=True))
    return made.value


def _error(failure: Failure) -> StackproofError:
    text = "\n".join(dict.fromkeys([failure.reason, *failure.log]))
    if failure.outside:
        return OutsideError(text)
    return UnsupportedError(text) if failure.kind == "refused" else FailedError(text)


def _tables(document: dict[str, Any], run: Run) -> dict[str, Any]:
    made = document["runs"][0]
    steps = run.spec.train.steps - (made.get("resumed_from") or 0)
    rest = made["seconds"]["rest"]
    pace = (steps - 1) / rest if steps > 1 and rest else None
    return {
        "schema_version": SCHEMA_VERSION,
        "spec": run.spec.name,
        "backend": document["target"],
        "mode": made["mode"],
        "mode_why": made["why"],
        "device": document["platform"]["device"],
        "versions": document["versions"],
        "losses": made["losses"],
        "grad_norms": made["grad_norms"],
        "final_params_digest": made["parameters_digest"] or None,
        "steps_per_second": pace,
        "tokens_or_samples_per_second": _throughput(run.spec, made, pace),
        "time_to_first_step_s": made["seconds"]["first_step"],
        "import_s": document["seconds"]["import"],
        "peak_memory_bytes": document["peak_memory_bytes"],
    }


def _throughput(spec: Spec, made: Mapping[str, Any], pace: float | None) -> float | None:
    """Return tokens or samples per second; None where a command does not report its samples."""
    if not pace:
        return None
    if spec.workload is None:
        return pace * _units(spec)
    return made["samples"] / made["seconds"]["rest"] if made["samples"] is not None else None


def _units(spec: Spec) -> int:
    """Return what one step takes in: tokens for models of text, else samples."""
    return spec.train.accumulate * spec.data.batch * int(getattr(spec.model, "context", 1))

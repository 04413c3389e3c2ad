"""The stage from an environment to evidence: one worker makes every run of a cell."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..compat.errors import OutsideError, StoppedError
from ..containers.image import Image
from .evidence_form import EvidenceError, read_evidence
from .inside import PROGRAM, TENSORS
from .jobs import failure_key, make_job, plan_runs, run_key
from .launch import Request, run_worker
from .records import Failure, Made
from .store import canonical, digest_of, outside, replace_file

if TYPE_CHECKING:
    from ..compat.cell import Cell
    from ..compat.lock import Lock
    from .launch import Outcome
    from .records import Home
    from .site import Site


# Seconds that a worker has beside those of a command that it runs, to begin and to end it.
_AROUND: Final = 60.0


@dataclass(frozen=True)
class Task:
    """One cell with its lock and environment."""

    cell: Cell
    lock: Lock
    environment: Home


def key_of(site: Site, cell: Cell, lock: Lock) -> str:
    """Return the key that a cell's evidence is kept under."""
    program = site.programs[cell.spec]
    runs = plan_runs(program.spec, cell.stack)
    job = make_job(program, cell.stack.framework, site.run, runs, site.folder)
    key = run_key(lock, site.worker_digest, program, job, site.machine)
    if site.images is None:
        return key
    return digest_of({"run": key, "image": site.images.key(cell.stack, lock), "engine": site.images.engine.kind})


def find_run(site: Site, cell: Cell, lock: Lock) -> Made[dict[str, Any]] | None:
    """Return a cell's evidence, or its failure under the same limits, from the store."""
    if site.fresh:
        return None
    key = key_of(site, cell, lock)
    if document := site.store.get("run", key):
        return Made(document, reused=True, evidence=site.store.digest("run", key))
    if failed := site.store.get("failure", failure_key(key, site.run)):
        failure = Failure(failed["kind"], failed["reason"], tuple(failed["log"]))
        return Made(failure=failure, reused=True, evidence=site.store.digest("failure", failure_key(key, site.run)))
    return None


def make_run(site: Site, task: Task) -> Made[dict[str, Any]]:
    """Run a cell's worker and keep what it recorded, or how it failed.

    Raises:
        StoppedError: The site was cancelled.
        OutsideError: The folder cannot be written.
    """
    cell, start = task.cell, time.monotonic()
    site.reporter.start("run", cell.id)
    runs = plan_runs(site.programs[cell.spec].spec, cell.stack)
    request = prepare(site, cell, task.environment, "run", runs)
    outcome = run_worker(request, site.cancel)
    seconds, key = time.monotonic() - start, key_of(site, cell, task.lock)
    if not outcome.ok:
        failure = failure_of(outcome)
        site.reporter.fail("run", cell.id, failure.reason)
        if failure.outside:
            return Made(failure=failure, seconds=seconds)
        tables = {"kind": failure.kind, "reason": failure.reason, "log": list(failure.log)}
        kept = site.store.put("failure", failure_key(key, site.run), cell.id, tables, seconds)
        return Made(failure=failure, seconds=seconds, evidence=kept)
    try:
        found = collect(site, request, outcome)
    except EvidenceError as error:
        site.reporter.fail("run", cell.id, str(error))
        return Made(failure=Failure("crash", str(error)), seconds=seconds)
    document = {**found, "made": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    kept = site.store.put("run", key, cell.id, document, seconds)
    site.reporter.finish("run", cell.id, seconds, reused=False)
    return Made(document, seconds=seconds, evidence=kept)


def work_folder(site: Site, cell: Cell) -> Path:
    """Return the folder that a cell's workers run in."""
    return site.folder / "work" / cell.id


def prepare(
    site: Site, cell: Cell, environment: Home, name: str, runs: list[dict[str, Any]], *, serve: bool = False
) -> Request:
    """Write a cell's job and return how to run it.

    Args:
        site: Where.
        cell: The cell.
        environment: Where its worker runs.
        name: What the job's files are called.
        runs: What to run.
        serve: Whether the worker stays open to time steps.

    Raises:
        OutsideError: The folder cannot be written.
    """
    folder = work_folder(site, cell)
    image = environment if isinstance(environment, Image) else None
    program = site.programs[cell.spec]
    job = make_job(program, cell.stack.framework, site.run, runs, folder / name)
    if image is not None:
        job = {**job, "program": str(PROGRAM), "tensors": str(TENSORS)}
    with outside(site.folder):
        shutil.rmtree(folder / name, ignore_errors=True)
        replace_file(folder / f"{name}.job.json", canonical({**job, "serve": serve}))
        (folder / f"{name}.json").unlink(missing_ok=True)
    return Request(
        python=Path(environment.python),
        bundle=site.worker,
        job=folder / f"{name}.job.json",
        evidence=folder / f"{name}.json",
        folder=folder,
        device=site.run.device,
        threads=site.run.threads,
        time_limit=time_limit_of(site, cell),
        memory_limit=site.run.memory_limit * 1024 * 1024,
        image=image,
        program=program.path,
    )


def time_limit_of(site: Site, cell: Cell) -> float:
    """Return the seconds that a cell's worker may take; of a command of the spec's own, the spec says it."""
    workload = site.programs[cell.spec].spec.workload
    return float(site.run.time_limit) if workload is None else workload.seconds + _AROUND


def collect(site: Site, request: Request, outcome: Outcome | None = None) -> dict[str, Any]:
    """Take a worker's evidence and tensors into the store.

    Returns:
        The evidence; each run names its final parameters' file in the store as `parameters_blob`, those of its final
        state and averages, if any, as `state_blob` and `averages_blob`, and the image that it was made in, if any, as
        `image_digest`.

    Raises:
        EvidenceError: The evidence is not of the form that workers write.
        OutsideError: A file is missing or the folder cannot be written.
    """
    with outside(site.folder):
        names = [run["name"] for run in json.loads(request.job.read_bytes())["runs"]]
        evidence = read_evidence(request.evidence, names)
        document = evidence.document
        held = {"parameters": evidence.parameters, "state": evidence.states, "averages": evidence.averages}
        for place, run in enumerate(document["runs"]):
            for kind, contents in held.items():
                if (content := contents[place]) is not None:
                    del run[f"{kind}_file"]
                    run[f"{kind}_blob"] = f"{site.store.put_blob(content, '.npz')}.npz"
            if request.image is not None:
                run["image_digest"] = request.image.content_digest
    if outcome is not None:
        document["peak_memory_bytes"] = max(document["peak_memory_bytes"], outcome.peak_memory_bytes)
    return document


def failure_of(outcome: Outcome) -> Failure:
    """Return how a worker ended as the reason for which a stage made nothing.

    Raises:
        StoppedError: It was stopped by the user.
    """
    if outcome.kind == "stopped":
        raise StoppedError("stopped; what was finished is kept, and --resume goes on from there")
    return Failure(outcome.kind, outcome.reason, outcome.log, outside=outcome.kind == "disk")


def read_failure(error: OutsideError) -> Failure:
    """Return an error of the outside as the reason for which a stage made nothing."""
    return Failure("outside", str(error).splitlines()[0], outside=True)

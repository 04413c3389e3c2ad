"""The stage that repeats a cell's judged run in another process and measures its speed, alone on the machine.

A candidate and its baseline are kept open side by side and make blocks of the same number of steps in turn, so that
whatever slows the machine meets both. Their order swaps from round to round.
"""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .evidence_form import EvidenceError
from .jobs import measure_key, plan_measured
from .judge.throughput import compare_pairs
from .launch import Server, WorkerError
from .records import Failure, Made, Measured
from .running import collect, failure_of, key_of, prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..compat.cell import Cell
    from ..compat.lock import Lock
    from .records import Home
    from .site import Site

_TRIAL_STEPS: Final = 8
_FEWEST_STEPS: Final = 4
_MOST_STEPS: Final = 20_000


@dataclass(frozen=True)
class Group:
    """Cells that are measured together, with their locks: a candidate and its baseline, or one cell alone."""

    candidate: tuple[Cell, Lock]
    baseline: tuple[Cell, Lock] | None

    @property
    def cells(self) -> tuple[tuple[Cell, Lock], ...]:
        """Return the baseline, where there is one, and the candidate."""
        return (self.candidate,) if self.baseline is None else (self.baseline, self.candidate)


def group_key(site: Site, group: Group) -> str:
    """Return the key that a group's measurement is kept under."""
    return measure_key([key_of(site, cell, lock) for cell, lock in group.cells], site.throughput)


def find_measurement(site: Site, group: Group) -> Made[dict[str, Any]] | None:
    """Return a group's measurement from the store."""
    if site.fresh:
        return None
    document = site.store.get("measure", group_key(site, group))
    if document is None:
        return None
    return Made(document, reused=True, evidence=site.store.digest("measure", group_key(site, group)))


def make_measurement(site: Site, group: Group, environments: Sequence[Home]) -> Made[dict[str, Any]]:
    """Measure a group.

    Args:
        site: Where.
        group: What.
        environments: The environment of each cell, in the order of `Group.cells`.

    Returns:
        A document with each cell's repeated run, in the order of `Group.cells`, the seconds of each round, in the same
        order, and the number of steps in a block.

    Raises:
        StoppedError: The site was cancelled.
        OutsideError: The folder cannot be written.
    """
    subject, start = group.candidate[0].id, time.monotonic()
    site.reporter.start("measure", subject)
    try:
        document = _measure(site, group, environments)
    except WorkerError as error:
        failure = failure_of(error.outcome)
        site.reporter.fail("measure", subject, failure.reason)
        return Made(failure=failure, seconds=time.monotonic() - start)
    except EvidenceError as error:
        site.reporter.fail("measure", subject, str(error))
        return Made(failure=Failure("crash", str(error)), seconds=time.monotonic() - start)
    seconds = time.monotonic() - start
    kept = site.store.put("measure", group_key(site, group), subject, document, seconds)
    site.reporter.finish("measure", subject, seconds, reused=False)
    return Made(document, seconds=seconds, evidence=kept)


def read_measurement(made: Made[dict[str, Any]], group: Group, *, of_baseline: bool) -> Made[Measured]:
    """Return one cell's part in a group's measurement."""
    document = made.value
    if document is None:
        return Made(failure=made.failure, seconds=made.seconds, reused=made.reused)
    repeat = document["repeats"][0 if of_baseline else -1]
    throughput = None
    if group.baseline is not None and document["rounds"] and not of_baseline:
        pairs = [(base, candidate) for base, candidate in document["rounds"]]
        throughput = compare_pairs(pairs, group.baseline[0].id, document["steps"])
    return Made(Measured(repeat, throughput), None, made.seconds, made.reused, made.evidence)


def _measure(site: Site, group: Group, environments: Sequence[Home]) -> dict[str, Any]:
    requests = [
        prepare(site, cell, environment, "repeat", [_as_before(site, cell, lock)], serve=True)
        for (cell, lock), environment in zip(group.cells, environments, strict=True)
    ]
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(request, site.cancel)) for request in requests]
        for server in servers:
            server.ready()
        repeats = [collect(site, request)["runs"][0] for request in requests]
        steps, rounds = _time_rounds(site, servers)
    return {"repeats": repeats, "rounds": rounds, "steps": steps}


def _as_before(site: Site, cell: Cell, lock: Lock) -> dict[str, Any]:
    """Return a cell's judged run, in the execution that its run chose where the spec leaves it to choose."""
    document = site.store.get("run", key_of(site, cell, lock))
    chosen = document["runs"][0].get("execution") if document is not None else ""
    return plan_measured(site.programs[cell.spec].spec, chosen if isinstance(chosen, str) else "")


def _time_rounds(site: Site, servers: Sequence[Server]) -> tuple[int, list[list[float]]]:
    if site.throughput.rounds == 0:
        return 0, []
    trials = [server.steps(_TRIAL_STEPS) for server in servers]
    slowest = max(trial.seconds for trial in trials) / _TRIAL_STEPS
    steps = min(_MOST_STEPS, max(_FEWEST_STEPS, math.ceil(site.throughput.seconds / slowest)))
    for server in servers:
        server.steps(steps)
    return steps, [_time_round(servers, steps, swap=bool(index % 2)) for index in range(site.throughput.rounds)]


def _time_round(servers: Sequence[Server], steps: int, *, swap: bool) -> list[float]:
    order = list(reversed(servers)) if swap else list(servers)
    taken = [server.steps(steps).seconds for server in order]
    return list(reversed(taken)) if swap else taken

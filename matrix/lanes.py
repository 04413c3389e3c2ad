"""Two lanes: environments are made one after the other, while cells whose environment stands already run."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..compat.errors import OutsideError, StoppedError
from .inspection import find_inspection, is_of, make_inspection
from .locking import lock_stack, make_environment
from .records import CellRecord, Made
from .running import Task, find_run, make_run, read_failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..compat.cell import Cell, Stack
    from ..compat.lock import Lock
    from .records import Home
    from .site import Site

    Run = Made[dict[str, Any]]


@dataclass(frozen=True)
class _Prepared:
    """A stack's lock, each cell's run, made or on its way, what its image holds, and what building took and gave."""

    lock: Made[Lock]
    runs: Mapping[Cell, Future[Run] | Run]
    inspected: Run = field(default_factory=Made)
    build_seconds: float = 0.0
    environment: Home | None = None


def run_lanes(site: Site, cells: Sequence[Cell], baselines: Mapping[Cell, Cell | None]) -> list[CellRecord]:
    """Take cells from their stacks to their evidence.

    Args:
        site: Where.
        cells: Which, in the order of the report.
        baselines: The cell that each one's speed is held against.

    Returns:
        A record for each cell, in their order.

    Raises:
        StoppedError: Interrupted.
        OutsideError: The output folder cannot be written.
    """
    stacks: dict[Stack, list[Cell]] = {}
    for cell in cells:
        stacks.setdefault(cell.stack, []).append(cell)
    runners = ThreadPoolExecutor(site.jobs, thread_name_prefix="run")
    builder = ThreadPoolExecutor(1, thread_name_prefix="build")
    try:
        waiting = {stack: builder.submit(_prepare, site, stack, mine, runners) for stack, mine in stacks.items()}
        prepared = {stack: future.result() for stack, future in waiting.items()}
        return [_record(cell, baselines[cell], prepared[cell.stack]) for cell in cells]
    except BaseException:
        site.cancel.set()
        raise
    finally:
        builder.shutdown(cancel_futures=True)
        runners.shutdown(cancel_futures=True)


def _prepare(site: Site, stack: Stack, cells: Sequence[Cell], runners: ThreadPoolExecutor) -> _Prepared:
    lock = lock_stack(site, stack)
    if lock.value is None:
        site.reporter.skip(1 + _looks(site) + len(cells))
        return _Prepared(lock, {})
    found = {cell: find_run(site, cell, lock.value) for cell in cells}
    runs: dict[Cell, Future[Run] | Run] = {cell: made for cell, made in found.items() if made is not None}
    for cell in runs:
        site.reporter.finish("run", cell.id, 0.0, reused=True)
    inspected = find_inspection(site, stack, lock.value)
    if len(runs) == len(cells) and inspected is not None:
        site.reporter.skip(1)
        return _Prepared(lock, runs, inspected)
    built = make_environment(site, stack, lock.value)
    missing = [cell for cell in cells if cell not in runs]
    if built.value is None:
        site.reporter.skip(len(missing) + _looks(site) * (inspected is None))
        failed: Run = Made(failure=built.failure)
        return _Prepared(lock, {**runs, **dict.fromkeys(missing, failed)}, failed if inspected is None else inspected)
    if inspected is None or not is_of(inspected, built.value):
        inspected = make_inspection(site, stack, lock.value, built.value)
    for cell in missing:
        runs[cell] = runners.submit(_run, site, Task(cell, lock.value, built.value))
    return _Prepared(lock, runs, inspected, built.seconds, built.value)


def _looks(site: Site) -> int:
    """Return how many stages look into what was built."""
    return 0 if site.images is None else 1


def _run(site: Site, task: Task) -> Run:
    if site.cancel.is_set():
        raise StoppedError("stopped before the cell was run")
    try:
        return make_run(site, task)
    except OutsideError as error:
        site.reporter.fail("run", task.cell.id, str(error))
        return Made(failure=read_failure(error))


def _record(cell: Cell, baseline: Cell | None, prepared: _Prepared) -> CellRecord:
    run = prepared.runs.get(cell, Made())
    made = run.result() if isinstance(run, Future) else run
    return CellRecord(
        cell=cell,
        baseline=baseline.id if baseline else None,
        lock=prepared.lock,
        run=made,
        inspected=prepared.inspected,
        build_seconds=prepared.build_seconds,
        environment=prepared.environment,
    )

"""The whole way, on one screen: cells are expanded, checked, locked, built, run, measured, judged and reported.

Each stage takes what the last one made, and is skipped where the store has what it would make. Environments are made
while cells of other stacks run; measurements run alone, after everything else.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .assemble import Certified, assemble
from .bases import check_engine
from .certificate import write_certificates, write_locks
from .expand import expand, find_baselines, select
from .lanes import run_lanes
from .measure_all import measure_all
from .pruning import find_impossible
from .records import CellRecord, Made
from .report.write import write_reports
from .resume import begin, check_begun, complete
from .running import work_folder
from .site import Settings, open_site
from .store import Store, sole_use
from .workload_files import check_engine_of_commands

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ..compat.cell import Cell, Stack
    from ..compat.finding import Finding
    from .config import Matrix
    from .site import Site


@dataclass(frozen=True)
class Request:
    """What is to be certified, and how.

    Attributes:
        matrix: The matrix.
        folder: The output folder.
        cells: Pattern of cell ids; empty for all.
        resume: Whether to go on with an interrupted run, and to refuse where there is none.
        settings: Progress, parallelism and reuse.
    """

    matrix: Matrix
    folder: Path
    cells: str = ""
    resume: bool = False
    settings: Settings = field(default_factory=Settings)


def certify(request: Request) -> dict[str, Any]:
    """Take every cell of a matrix all the way, and write reports and certificates.

    Returns:
        The report's tables.

    Raises:
        InputError: The matrix has no such cells, or there is nothing to resume.
        OutsideError: The output folder cannot be used, or another process uses it.
        StoppedError: Interrupted; what was finished is kept.
    """
    start, folder = time.monotonic(), request.folder.absolute()
    matrix = request.matrix
    cells = select(expand(matrix), request.cells) if request.cells else expand(matrix)
    check_engine(matrix, cells, request.settings.engine)
    check_engine_of_commands(matrix, cells, request.settings.engine)
    if request.resume:
        check_begun(folder, matrix)
    with sole_use(folder), Store(folder) as store:
        begin(folder, matrix)
        site = open_site(folder, store, matrix, request.settings)
        with site.reporter:
            records = measure_all(site, _run(site, matrix, cells))
        report = assemble(Certified(matrix, site, records, time.monotonic() - start))
        write_locks(folder, records)
        write_certificates(site, report)
        write_reports(report, folder)
        complete(folder)
        _tidy(site, records)
    return report


def _run(site: Site, matrix: Matrix, cells: Sequence[Cell]) -> list[CellRecord]:
    """Take cells to their evidence, but for those that the rules call impossible: these are not tried."""
    baselines, impossible = find_baselines(matrix, cells), _find_impossible(site, matrix, cells)
    tried = [cell for cell in cells if cell.stack not in impossible]
    of_stacks = 2 if site.images is None else 3
    site.reporter.plan(len(impossible) + of_stacks * len({cell.stack for cell in tried}) + len(tried) + len(cells))
    for stack, findings in impossible.items():
        site.reporter.fail("check", stack.id, f"{findings[0].code}: {findings[0].message}")
    ran = {record.cell: record for record in run_lanes(site, tried, baselines)}
    return [ran.get(cell) or _untried(cell, baselines[cell], impossible[cell.stack]) for cell in cells]


def _find_impossible(site: Site, matrix: Matrix, cells: Sequence[Cell]) -> Mapping[Stack, tuple[Finding, ...]]:
    bases = None if site.images is None else matrix.bases
    stacks = [cell.stack for cell in cells]
    return find_impossible(stacks, site.run, site.machine, bases, forward_compat=matrix.image.forward_compat)


def _untried(cell: Cell, baseline: Cell | None, findings: tuple[Finding, ...]) -> CellRecord:
    return CellRecord(cell, baseline.id if baseline else None, Made(), impossible=findings)


def _tidy(site: Site, records: Sequence[CellRecord]) -> None:
    """Remove the working files of cells that went all the way; those of the others are kept to be looked at."""
    for record in records:
        if record.failure is None and not record.impossible:
            shutil.rmtree(work_folder(site, record.cell), ignore_errors=True)

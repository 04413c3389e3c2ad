"""From what was made to the report: every cell judged, and put into the tables that every renderer reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..compat.verdict import VERDICTS
from .judge.cell import Judgement, judge_cell
from .judge.command import CommandJudge, judge_command, judge_commands
from .judge.spec import SpecJudge, judge_spec
from .report.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..backends.spec import Spec
    from ..compat.cell import Cell
    from .config import Matrix
    from .records import CellRecord
    from .site import Site

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Certified:
    """A matrix taken all the way.

    Attributes:
        matrix: What was asked.
        site: Where it was worked on.
        records: What was made for each cell, in the matrix' order.
        seconds: Wall seconds of the whole run.
    """

    matrix: Matrix
    site: Site
    records: Sequence[CellRecord]
    seconds: float


def assemble(done: Certified) -> dict[str, Any]:
    """Judge every cell and return the report's tables; see `docs/report.md` for their meaning."""
    judges = {spec.name: _judge(done, spec) for spec in done.matrix.specs}
    used = {record.cell.spec for record in done.records}
    minimum = done.matrix.throughput.minimum_ratio
    cells = [_cell(record, _judged(record, judges[record.cell.spec], minimum)) for record in done.records]
    return {
        "schema_version": SCHEMA_VERSION,
        "stackproof": __version__,
        "matrix": done.matrix.name,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": asdict(done.site.machine),
        "specs": [_spec(spec, judges[spec.name]) for spec in done.matrix.specs if spec.name in used],
        "cells": cells,
        "totals": _totals(cells, done),
    }


def _judge(done: Certified, spec: Spec) -> SpecJudge | CommandJudge:
    program = done.site.programs[spec.name]
    if spec.workload is not None:
        return judge_commands(spec, program.digest, done.records, done.site.store.blob)
    start = {"program": program.digest, "data": program.data_digest}
    return judge_spec(spec, start, done.records, done.site.store.blob)


def _judged(record: CellRecord, judge: SpecJudge | CommandJudge, minimum: float) -> Judgement:
    if isinstance(judge, CommandJudge):
        return judge_command(record, judge, minimum)
    return judge_cell(record, judge, minimum)


def _totals(cells: Sequence[dict[str, Any]], done: Certified) -> dict[str, Any]:
    counted = Counter(cell["verdict"] for cell in cells)
    runs = [record.run for record in done.records if record.run.value or record.run.failure]
    reused = sum(run.reused for run in runs)
    return {
        **{verdict: counted[verdict] for verdict in VERDICTS},
        "cells": len(cells),
        "seconds": round(done.seconds, 3),
        "runs_reused": reused,
        "runs_made": len(runs) - reused,
    }


def _spec(spec: Spec, judge: SpecJudge | CommandJudge) -> dict[str, Any]:
    reference = None if isinstance(judge, CommandJudge) else _reference(judge)
    return {"name": spec.name, "digest": spec.digest, "summary": summarise(spec), "reference": reference}


def _reference(judge: SpecJudge) -> dict[str, Any]:
    return {
        "frameworks": list(judge.reference.frameworks) if judge.reference else [],
        "agreement": _finite(judge.reference.agreement) if judge.reference else None,
        "agrees": bool(judge.reference and judge.reference.agrees),
        "why": judge.reference.why if judge.reference else "no cell of this spec ran",
    }


def _cell(record: CellRecord, judged: Judgement) -> dict[str, Any]:
    document = record.run.value or {}
    platform = document.get("platform", {})
    return {
        "id": record.cell.id,
        "spec": record.cell.spec,
        "stack": _stack(record.cell),
        "level": judged.level,
        "verdict": judged.verdict,
        "baseline": record.baseline == record.cell.id,
        "reasons": list(judged.reasons),
        "findings": [finding.as_json() for finding in record.impossible],
        "checks": [asdict(check) for check in judged.checks],
        "throughput": asdict(judged.throughput) if judged.throughput else None,
        **_lock(record),
        **_image(record),
        "evidence": [made.evidence for made in (record.run, record.measured, record.inspected) if made.evidence],
        "mode": judged.mode,
        "mode_why": judged.mode_why,
        "made": document.get("made"),
        "device": platform.get("device"),
        "device_name": platform.get("device_name"),
        "peak_memory_bytes": document.get("peak_memory_bytes"),
        "curves": judged.curves,
        "log": list(record.failure.log) if record.failure and record.failure.log else None,
        "seconds": _seconds(record),
        "reused": {name: made.reused for name, made in _stages(record).items()},
    }


def _stack(cell: Cell) -> dict[str, Any]:
    stack = cell.stack
    return {
        "package": stack.package,
        "version": stack.version,
        **({"extras": list(stack.extras)} if stack.extras else {}),
        "python": stack.python,
        "packages": dict(stack.packages),
        **({"os": stack.os} if stack.os else {}),
        "framework": stack.framework,
    }


def _lock(record: CellRecord) -> dict[str, Any]:
    lock = record.lock.value
    return {
        "lock_digest": lock.digest if lock else None,
        "build": lock.build if lock else None,
        "build_source": lock.build_source if lock else None,
        "packages": {package.name: package.version for package in lock.packages} if lock else {},
    }


def _image(record: CellRecord) -> dict[str, Any]:
    document = record.inspected.value
    image = {name: value for name, value in document["image"].items() if name != "lock_digest"} if document else None
    return {"image_digest": f"sha256:{image['content_digest']}" if image else None, "image": image}


def _seconds(record: CellRecord) -> dict[str, float]:
    taken = {name: made.seconds for name, made in _stages(record).items()}
    return {name: round(value, 3) for name, value in {**taken, "build": record.build_seconds}.items()}


def _stages(record: CellRecord) -> dict[str, Any]:
    stages = {"resolve": record.lock, "run": record.run, "measure": record.measured}
    return {**stages, "inspect": record.inspected} if record.inspected.value else stages


def _finite(value: float) -> float | None:
    return value if value == value else None  # noqa: PLR0124 - nan is the only value unlike itself

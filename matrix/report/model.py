"""The report dict that every renderer gets, typed, and the one way to make it strict JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict, cast

from ...compat.verdict import VERDICTS, Level, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

# The stages of a cell in the order of the way; others come after them.
STAGES: Final = ("resolve", "build", "inspect", "run", "measure", "throughput")
# From the verdict that a reader must see first to the one that asks for nothing.
BY_URGENCY: Final[tuple[Verdict, ...]] = (
    "incorrect",
    "broken",
    "regressed",
    "incompatible",
    "drifted",
    "untested",
    "certified",
)


class CheckEntry(TypedDict):
    """One check of a cell, as `compat.verdict.Check`."""

    name: str
    outcome: Outcome
    measured: str | float | None
    allowed: str | float | None
    why: str


class BecauseEntry(TypedDict):
    """A fact that a finding rests on, as `compat.finding.Because`."""

    fact: str
    source: str


class FindingEntry(TypedDict):
    """What a rule says of a cell's stack, as `compat.finding.Finding`."""

    code: str
    severity: str
    components: list[str]
    message: str
    because: list[BecauseEntry]
    fix: list[str]


class ThroughputEntry(TypedDict):
    """A cell's speed against its baseline, as `compat.verdict.Throughput`."""

    ratio: float
    low: float
    high: float
    baseline: str
    confidence: float
    rounds: list[float]
    steps_per_second: float


class Curves(TypedDict):
    """Per step: what was measured, the float64 reference, and the absolute difference that is allowed.

    Of a command of the spec's own, in place of the reference: the losses that its own are held against.

    All lists have one entry per step; an entry is None where the value was not finite.
    """

    loss: list[float | None]
    reference_loss: list[float | None]
    loss_allowed: list[float | None]
    grad_norm: list[float | None]
    reference_grad_norm: list[float | None]
    grad_norm_allowed: list[float | None]


class StackEntry(TypedDict):
    """The stack of a cell; `packages` are the further pins of the matrix. What it does not ask for is left out."""

    package: str
    version: str
    extras: NotRequired[list[str]]
    python: str
    packages: dict[str, str]
    os: NotRequired[str]
    framework: str


class ImageEntry(TypedDict):
    """The image that a cell ran in: its name in the engine, its digests, its base, and the bytes of each layer."""

    engine: str
    reference: str
    id: str
    content_digest: str
    base: str
    size: int
    layers: list[tuple[str, int]]


class CellEntry(TypedDict):
    """One cell: how far it was taken, what was found, and on what."""

    id: str
    spec: str
    stack: StackEntry
    level: Level
    verdict: Verdict
    baseline: bool
    reasons: list[str]
    findings: list[FindingEntry]
    checks: list[CheckEntry]
    throughput: ThroughputEntry | None
    lock_digest: str | None
    image_digest: str | None
    image: NotRequired[ImageEntry | None]
    build: str | None
    build_source: str | None
    packages: dict[str, str]
    evidence: list[str]
    mode: str | None
    mode_why: str | None
    made: str | None
    device: str | None
    device_name: str | None
    peak_memory_bytes: int | None
    curves: Curves | None
    log: list[str] | None
    seconds: dict[str, float]
    reused: dict[str, bool]


class ReferenceEntry(TypedDict):
    """The float64 reference of a spec, and how well its frameworks agree (relative)."""

    frameworks: list[str]
    agreement: float | None
    agrees: bool
    why: str


class SpecEntry(TypedDict):
    """One spec of the matrix."""

    name: str
    digest: str
    reference: ReferenceEntry | None
    summary: str


class MachineEntry(TypedDict):
    """Where the report was made."""

    os: str
    cpu: str
    cores: int
    memory_bytes: int | None
    gpu: str | None
    driver: NotRequired[str | None]
    python: str


class Totals(TypedDict):
    """Cells per verdict, and what the run cost."""

    certified: int
    drifted: int
    regressed: int
    incorrect: int
    broken: int
    incompatible: int
    untested: int
    cells: int
    seconds: float
    runs_reused: int
    runs_made: int


class Report(TypedDict):
    """The whole report, as written to `report.json`."""

    schema_version: int
    stackproof: str
    matrix: str
    created: str
    machine: MachineEntry
    specs: list[SpecEntry]
    cells: list[CellEntry]
    totals: Totals


def as_report(tables: Mapping[str, Any]) -> Report:
    """Return a plain report dict under its type, with every number finite (see `finite`)."""
    return cast("Report", finite(tables))


def finite(value: Any, key: str = "") -> Any:  # noqa: ANN401 - any JSON value in, the same kind out
    """Return a copy without NaN and infinities, which strict JSON cannot hold.

    A check's `measured` and `allowed` become words, so that `inf` is still read; elsewhere the number becomes None.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value) if key in {"measured", "allowed"} else None
    if isinstance(value, dict):
        return {name: finite(entry, name) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry, key) for entry in value]
    return value


def stack_id(cell: CellEntry) -> str:
    """Return the stack's part of a cell's id, such as `torch2.13.0-py311`."""
    return cell["id"].removesuffix(f"-{cell['spec']}")


def unsettled(report: Report) -> list[CellEntry]:
    """Return the cells that are not certified, the most urgent verdict first."""
    found = [cell for cell in report["cells"] if cell["verdict"] != "certified"]
    return sorted(found, key=lambda cell: BY_URGENCY.index(cell["verdict"]))


def counts(report: Report) -> dict[Verdict, int]:
    """Return the number of cells per verdict, every verdict named."""
    verdicts = [cell["verdict"] for cell in report["cells"]]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def stage_seconds(cell: CellEntry) -> list[tuple[str, float]]:
    """Return the seconds per stage in the order of the way."""
    order = {name: place for place, name in enumerate(STAGES)}
    return sorted(cell["seconds"].items(), key=lambda stage: order.get(stage[0], len(STAGES)))


def check_names(report: Report) -> list[str]:
    """Return the names of all checks in the order in which they are first met."""
    return list(dict.fromkeys(check["name"] for cell in report["cells"] for check in cell["checks"]))

"""What each stage of the way made, handed from one to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..compat.cell import Cell
    from ..compat.finding import Finding
    from ..compat.lock import Lock
    from ..compat.verdict import Throughput
    from ..containers.image import Image
    from ..containers.venv import Environment

T = TypeVar("T")
Home: TypeAlias = "Environment | Image"
"""A lock made real: a venv, or an image."""


@dataclass(frozen=True)
class Failure:
    """Why a stage made nothing.

    Attributes:
        kind: What happened: `unsolvable`, `outside`, or how a process ended (`crash`, `signal`, `hang`, ...).
        reason: A sentence for a reader of the report.
        log: The log's decisive lines.
        outside: Whether something outside failed, which says nothing about the cell.
    """

    kind: str
    reason: str
    log: tuple[str, ...] = ()
    outside: bool = False


@dataclass(frozen=True)
class Made(Generic[T]):
    """What a stage made, or why it made nothing.

    Attributes:
        value: What was made; None where the stage failed.
        failure: Why not.
        seconds: What making it took, when it was made.
        reused: Whether it was in the store already.
        evidence: Digest of the document it is kept under, where it is kept.
    """

    value: T | None = None
    failure: Failure | None = None
    seconds: float = 0.0
    reused: bool = False
    evidence: str | None = None


@dataclass(frozen=True)
class Measured:
    """One cell's part in a measurement: the judged run repeated in another process, and its speed.

    Attributes:
        repeat: The repeated run, as in an evidence document.
        throughput: The speed against the baseline; None for a baseline or where there is none.
    """

    repeat: Mapping[str, Any] | None
    throughput: Throughput | None = None


@dataclass(frozen=True)
class CellRecord:
    """Everything that was made for one cell.

    Attributes:
        cell: The cell.
        baseline: Id of the cell that its speed is held against; None where there is none.
        lock: The lock of its stack.
        run: Its evidence document.
        measured: Its repeated run and its speed.
        inspected: What was found in its image; without value for a venv.
        build_seconds: What making its environment took; 0 where it was there or was not needed.
        environment: Its environment; None where it was not needed or could not be made.
        impossible: The errors for which its stack was not tried at all; empty where it was.
    """

    cell: Cell
    baseline: str | None
    lock: Made[Lock]
    run: Made[dict[str, Any]] = field(default_factory=Made)
    measured: Made[Measured] = field(default_factory=Made)
    inspected: Made[dict[str, Any]] = field(default_factory=Made)
    build_seconds: float = 0.0
    environment: Home | None = None
    impossible: tuple[Finding, ...] = ()

    @property
    def failure(self) -> Failure | None:
        """Return why the cell could not be taken to its end, by the first stage that failed."""
        return self.lock.failure or self.run.failure or self.inspected.failure or self.measured.failure

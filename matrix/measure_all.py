"""Which cells are measured together, and every measurement, one at a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..compat.errors import OutsideError, StoppedError
from .locking import make_environment
from .measuring import Group, find_measurement, make_measurement, read_measurement
from .records import Made
from .running import read_failure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..compat.cell import Cell, Stack
    from ..compat.lock import Lock
    from .records import CellRecord, Failure, Home, Measured
    from .site import Site


def measure_all(site: Site, records: Sequence[CellRecord]) -> list[CellRecord]:
    """Repeat and time every cell that ran.

    A candidate is measured beside its baseline; a baseline's own part comes from the first such pair, and a cell that
    is in no pair is measured alone.

    Raises:
        StoppedError: Interrupted.
        OutsideError: The output folder cannot be written.
    """
    standing: dict[Stack, Made[Home]] = {
        record.cell.stack: Made(record.environment) for record in records if record.environment
    }
    work = _Work(site, {record.cell.id: record for record in records}, environments=standing)
    for record in sorted(records, key=lambda record: record.baseline == record.cell.id):
        if record.run.value is None:
            site.reporter.skip(1)
        elif record.cell.id not in work.measured:
            work.measure(record)
    return [replace(record, measured=work.measured.get(record.cell.id, Made())) for record in records]


@dataclass(frozen=True)
class _Work:
    site: Site
    records: dict[str, CellRecord]
    measured: dict[str, Made[Measured]] = field(default_factory=dict)
    environments: dict[Stack, Made[Home]] = field(default_factory=dict)

    def measure(self, record: CellRecord) -> None:
        if self.site.cancel.is_set():
            raise StoppedError("stopped before every cell was measured")
        partner = self.records.get(record.baseline or "")
        if partner is record or (partner is not None and partner.run.value is None):
            partner = None
        covered = partner if partner is not None and partner.cell.id not in self.measured else None
        self.site.reporter.skip(int(covered is not None))
        made, group = self._made(record, partner)
        if partner is not None and made.failure is not None and not made.failure.outside:
            # One of the two failed: each alone answers for itself.
            self.site.reporter.plan(1)
            partner = None
            made, group = self._made(record, partner)
        self.measured[record.cell.id] = read_measurement(made, group, of_baseline=False)
        if covered is not None and partner is not None and made.value is not None:
            self.measured[covered.cell.id] = read_measurement(made, group, of_baseline=True)
        elif covered is not None:
            self.site.reporter.plan(1)

    def _made(self, record: CellRecord, partner: CellRecord | None) -> tuple[Made[dict[str, Any]], Group]:
        group = Group(_locked(record), _locked(partner) if partner else None)
        if found := find_measurement(self.site, group):
            self.site.reporter.finish("measure", record.cell.id, 0.0, reused=True)
            return found, group
        built = [self._environment(cell.stack, lock) for cell, lock in group.cells]
        environments = [made.value for made in built if made.value is not None]
        if len(environments) < len(built):
            failure = next(made.failure for made in built if made.failure)
            return self._failed(record, failure), group
        try:
            return make_measurement(self.site, group, environments), group
        except OutsideError as error:
            return self._failed(record, read_failure(error)), group

    def _failed(self, record: CellRecord, failure: Failure) -> Made[dict[str, Any]]:
        self.site.reporter.fail("measure", record.cell.id, failure.reason)
        return Made(failure=failure)

    def _environment(self, stack: Stack, lock: Lock) -> Made[Home]:
        if stack not in self.environments:
            self.site.reporter.plan(1)
            self.environments[stack] = make_environment(self.site, stack, lock)
        return self.environments[stack]


def _locked(record: CellRecord) -> tuple[Cell, Lock]:
    if record.lock.value is None:
        raise AssertionError("a cell that ran has a lock")
    return record.cell, record.lock.value

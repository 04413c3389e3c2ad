"""From a cell's checks to its verdict, and from what rules it out to its reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .envelope import DRIFT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...compat.finding import Finding
    from ...compat.verdict import Check, Verdict
    from .envelope import Departure

_BROKEN: Final = frozenset({"versions", "linking", "cuda-libraries", "symbols", "packages", "hygiene", "image"})
_INCOMPATIBLE: Final = frozenset({"architectures", "drivers"})


def find_verdict(checks: Sequence[Check], departure: Departure | None) -> tuple[Verdict, list[str]]:
    """Return the verdict of a cell that ran, with its reasons.

    The gravest failure decides: wrong numbers before drift, drift before speed. A process that loaded other versions
    than the locked ones showed nothing about the lock, so its cell is `broken`; so is an image that does not hold what
    its lock says, or cannot load it. An image that a driver or GPU of the matrix refuses is `incompatible`.

    Args:
        checks: Every check of the cell.
        departure: Where the measured run left the envelope.
    """
    failed = {check.name: check for check in checks if check.outcome == "fail"}
    reasons = [check.why for check in failed.values()]
    if _BROKEN & failed.keys():
        return "broken", reasons
    if "start" in failed or "reference" in failed or "determinism" in failed:
        return "incorrect", reasons
    if _INCOMPATIBLE & failed.keys():
        return "incompatible", reasons
    if "trajectory" in failed:
        drifted = departure is not None and departure.excess <= DRIFT
        return "drifted" if drifted else "incorrect", reasons
    if "throughput" in failed:
        return "regressed", reasons
    return "certified", reasons


def explain_findings(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return why a cell was not tried, for a reader of the report: each error, its mends and where more is said."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.code}: {finding.message}")
        if finding.fix:
            lines.append(f"mend: {'; or '.join(finding.fix)}")
        lines.append(f"stackproof explain {finding.code} says more")
    return tuple(dict.fromkeys(lines))


def explain_failed(checks: Sequence[Check]) -> tuple[str, ...]:
    """Return why the checks that failed did."""
    return tuple(check.why for check in checks if check.outcome == "fail")

"""Try the mends that findings offer on the whole stack, and offer first what mends without breaking something else."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .known import parse_known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .described import Description
    from .finding import Finding

_PACKAGE: Final = re.compile(r"([a-z0-9][a-z0-9-]*)==([0-9][^\s,;]*)")
_DRIVER: Final = re.compile(r"(?:driver|a driver of branch) (\d[\d.]*) or newer")
_PYTHON: Final = re.compile(r"Python (\d+\.\d+)")
_MOST: Final = 48

Kinds = frozenset[tuple[str, tuple[str, ...]]]


def sift_mends(
    findings: tuple[Finding, ...], description: Description, judge: Callable[[Description], tuple[Finding, ...]]
) -> tuple[Finding, ...]:
    """Return the findings with their mends tried, where a mend names a version that can be tried.

    A mend after which the error is still there is left out. One that brings another error is left out where a better
    one is offered, and else says so.

    Args:
        findings: What the rules say of the description.
        description: The stack.
        judge: Asks the rules about a changed stack.
    """
    before = _errors(findings)
    tried: dict[str, Kinds | None] = {}

    def errors_after(mend: str) -> Kinds | None:
        if mend not in tried:
            changed = apply_mend(mend, description) if len(tried) < _MOST else None
            tried[mend] = None if changed is None else _errors(judge(changed))
        return tried[mend]

    return tuple(
        replace(finding, fix=_sift(finding, before, errors_after)) if finding.severity == "error" else finding
        for finding in findings
    )


def _sift(finding: Finding, before: Kinds, errors_after: Callable[[str], Kinds | None]) -> tuple[str, ...]:
    clean: list[str] = []
    costly: list[str] = []
    for mend in finding.fix:
        after = errors_after(mend)
        if after is None or after <= before - {_kind(finding)}:
            clean.append(mend)
        elif _kind(finding) not in after:
            codes = sorted({code for code, _ in after - before})
            costly.append(f"{mend}, which needs more changes ({', '.join(codes)})")
    return tuple(clean or costly) or finding.fix


def apply_mend(mend: str, description: Description) -> Description | None:
    """Return the description as a mend would change it; None for a mend that names no version to try."""
    changes: dict[str, str] = {}
    if match := _PACKAGE.match(mend):
        changes[match[1]] = match[2]
    elif match := _DRIVER.match(mend):
        changes["driver"] = match[1] if "." in match[1] else f"{match[1]}.99"
    elif match := _PYTHON.fullmatch(mend):
        changes["python"] = match[1]
    parsed = {name: (known,) for name, text in changes.items() if (known := parse_known(text)) is not None}
    if not parsed:
        return None
    dropped = {"driver_cuda"} if "driver" in parsed else set()
    kept = {name: found for name, found in description.known.items() if name not in dropped}
    packages = description.packages | (parsed.keys() - {"driver", "python"})
    return replace(description, known={**kept, **parsed}, packages=packages, arch_list=_listed(description, parsed))


def _listed(description: Description, changed: Mapping[str, object]) -> tuple[str, ...]:
    """Return the architectures that the framework lists itself, which another build of it need not."""
    return () if "torch" in changed or "tensorflow" in changed else description.arch_list


def _errors(findings: tuple[Finding, ...]) -> Kinds:
    return frozenset(_kind(finding) for finding in findings if finding.severity == "error")


def _kind(finding: Finding) -> tuple[str, tuple[str, ...]]:
    return finding.code, finding.components

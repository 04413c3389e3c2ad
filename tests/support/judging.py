"""Ask `check` about a stack in one line, for tests of rules."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from stackproof.compat.builds import torch_rows
from stackproof.compat.check import Checker
from stackproof.compat.described import Description, describe, parse_name
from stackproof.compat.releases import whole_releases

if TYPE_CHECKING:
    from stackproof.compat.finding import Finding

_CHECKER = Checker()


def stack(
    components: dict[str, str] | None = None,
    packages: dict[str, str] | None = None,
    *,
    gpus: tuple[str, ...] = (),
    **around: Any,
) -> Description:
    """Return a description; `around` are further fields of it, `gpus` several GPUs of one host."""
    described = describe(components or {}, packages or {})
    known = {**described.known, **({"gpu": tuple(map(parse_name, gpus))} if gpus else {})}
    return replace(described, known=known, **around)


def say(
    code: str, components: dict[str, str] | None = None, packages: dict[str, str] | None = None, **around: Any
) -> list[Finding]:
    """Return what one rule says of a stack."""
    answer = _CHECKER.check(stack(components, packages, **around))
    return [finding for finding in answer.findings if finding.code == code]


def the(
    code: str, components: dict[str, str] | None = None, packages: dict[str, str] | None = None, **around: Any
) -> Finding:
    """Return the one thing that a rule says of a stack."""
    findings = say(code, components, packages, **around)
    assert len(findings) == 1, findings
    return findings[0]


def verdict(components: dict[str, str] | None = None, packages: dict[str, str] | None = None, **around: Any) -> str:
    """Return the verdict on a stack."""
    return _CHECKER.check(stack(components, packages, **around)).verdict


def missing_fixes(finding: Finding) -> list[str]:
    """Return the fixes of a finding that name a release or a build which does not exist."""
    return [fix for fix in finding.fix if not _exists(fix)]


def _exists(fix: str) -> bool:
    named = re.match(r"([a-z][a-z0-9-]*)==([0-9][\w.]*)(?:\+cu(\d+))?(?![\w.*])", fix)
    if named is None:
        return True
    name, release, cuda = named.groups()
    if cuda is not None and name == "torch":
        return any(row["cuda"].replace(".", "") == cuda for row in torch_rows(release))
    releases = whole_releases(name)
    return not releases or Version(release) in map(Version, releases)

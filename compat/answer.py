"""What `check` answers, as the document that other programs read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .check import Answer
    from .described import Description

SCHEMA_VERSION: Final = 1


def answer_document(answer: Answer, description: Description) -> dict[str, Any]:
    """Return the document of `check --json` and `doctor --json`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "verdict": answer.verdict,
        "findings": [finding.as_json() for finding in answer.findings],
        "stack": stack_document(description),
        "not_understood": list(description.not_understood),
    }


def stack_document(description: Description) -> dict[str, Any]:
    """Return what was understood: of each component its version, or contradicting ones, and where it was read."""
    stack: dict[str, Any] = {
        name: {
            "version": str(known[0]) if len(known) == 1 else [str(entry) for entry in known],
            "where": list(dict.fromkeys(claim.where for claim in description.claims.get(name, ()))),
        }
        for name, known in sorted(description.known.items())
    }
    around: dict[str, Any] = {
        "env_vars": dict(description.env_vars),
        "arch_list": list(description.arch_list),
        "arch_range": list(description.arch_range or ()),
        "extras": {name: sorted(extras) for name, extras in sorted(description.extras.items())},
        "origins": sorted(description.origins),
        "required": list(description.required),
        "built_against": [list(entry) for entry in description.built_against],
        "libraries": [
            {"soname": entry.soname, "path": entry.path, "version": entry.version, "owner": entry.owner}
            for entry in description.libraries
        ],
    }
    return {**stack, **{name: value for name, value in around.items() if value}}

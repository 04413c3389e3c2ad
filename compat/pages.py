"""A page for every rule: what it says, where its facts are from, and how to mend what it finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .rules.registry import Rule, all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

FAMILIES: Final = {
    "SP0": "the description itself",
    "SP1": "driver and CUDA",
    "SP2": "GPU architecture",
    "SP3": "cuDNN, NCCL and library loading",
    "SP4": "between frameworks",
    "SP5": "companions and binary interfaces",
    "SP6": "Python, C library and platform",
    "SP7": "known bad releases and pairs",
}
_INDEX: Final = "README"
_INTRODUCTION: Final = (
    "Every finding of `check`, `doctor`, `plan` and `certify` names one of these codes; `stackproof explain CODE` "
    "prints its page. An error says that something cannot work, a warning that it works with a slow path or against "
    "what an installer allows, a note what is worth knowing. Where something that decides is missing or contradictory, "
    "the finding says so and the verdict is `undetermined`."
)


def page(rule: Rule) -> str:
    """Return a rule's page in Markdown."""
    return f"# {rule.code}: {rule.title}\n\n{rule.page}\n\nFamily: {FAMILIES[rule.code[:3]]}.\n"


def rule_document(rule: Rule) -> dict[str, Any]:
    """Return a rule for `explain --json`."""
    return {
        "schema_version": 1,
        "code": rule.code,
        "title": rule.title,
        "family": FAMILIES[rule.code[:3]],
        "text": rule.page,
        "page": f"docs/rules/{rule.code}.md",
    }


def all_pages() -> dict[str, str]:
    """Return every page of `docs/rules`, with its index, by file name."""
    pages = {f"{rule.code}.md": page(rule) for rule in all_rules()}
    return {f"{_INDEX}.md": _index(), **pages}


def _index() -> str:
    lines = [
        "# Rules",
        "",
        _INTRODUCTION,
        "",
        *_families(),
    ]
    return "\n".join(lines)


def _families() -> Iterator[str]:
    for family, title in FAMILIES.items():
        yield from (f"## {family}xx: {title}", "", "| code | finds |", "| --- | --- |")
        yield from (
            f"| [{rule.code}]({rule.code}.md) | {rule.title} |" for rule in all_rules() if rule.code.startswith(family)
        )
        yield ""

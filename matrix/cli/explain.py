"""`stackproof explain`: a rule's page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...compat.pages import all_pages, page, rule_document
from ...compat.rules import all_rules, find_rule
from .output import standard_output

if TYPE_CHECKING:
    import argparse
    from pathlib import Path


def run(options: argparse.Namespace) -> int:
    """Print a rule's page, list all rules, or write the pages of all of them."""
    if options.write is not None:
        _write(options.write)
        return 0
    rules = [find_rule(options.code)] if options.code else list(all_rules())
    with standard_output() as stream:
        if options.json:
            documents = [rule_document(rule) for rule in rules]
            document = documents[0] if options.code else {"schema_version": 1, "rules": documents}
            stream.write(json.dumps(document, indent=1) + "\n")
        elif options.code:
            stream.write(page(rules[0]))
        else:
            stream.writelines(f"{rule.code}  {rule.title}\n" for rule in rules)
    return 0


def _write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in all_pages().items():
        (folder / name).write_text(text, encoding="utf-8")

"""The page of every rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.compat.pages import FAMILIES, all_pages, page, rule_document
from stackproof.compat.rules import all_rules, find_rule

DOCS = Path(__file__).parents[2] / "docs" / "rules"


def test_the_pages_in_the_documentation_are_those_of_the_rules() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
    pages = all_pages()
    assert sorted(written) == sorted(pages), "write docs/rules again"
    differing = [name for name, text in pages.items() if written[name].rstrip() != text.rstrip()]
    assert differing == [], "write docs/rules again"


def test_every_rule_has_a_page_and_a_line_in_the_index() -> None:
    pages = all_pages()
    for entry in all_rules():
        assert pages[f"{entry.code}.md"].startswith(f"# {entry.code}: {entry.title}\n")
        assert f"[{entry.code}]({entry.code}.md)" in pages["README.md"]


@pytest.mark.parametrize("code", ["SP101", "SP204", "SP301", "SP503"])
def test_a_page_says_how_to_mend_it(code: str) -> None:
    assert "Mend it" in page(find_rule(code))


def test_every_code_is_of_a_family() -> None:
    assert {entry.code[:3] for entry in all_rules()} == set(FAMILIES)


def test_a_page_for_programs_names_its_file() -> None:
    document = rule_document(find_rule("SP101"))
    assert document["page"] == "docs/rules/SP101.md"
    assert document["family"] == "driver and CUDA"
    assert document["text"]


def test_pages_are_tidy() -> None:
    for name, text in all_pages().items():
        assert text.strip(), name
        assert all(line == line.rstrip() for line in text.splitlines()), name
        assert "  " not in text.replace("\n", ""), name

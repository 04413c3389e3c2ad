from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from markdown_it import MarkdownIt

from stackproof.matrix.report.markdown import LOG_LINES, render_markdown


class Page(HTMLParser):
    """What a reader of the rendered Markdown gets: elements and text."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.words += " " if tag in {"td", "br", "li"} else ""

    def handle_data(self, data: str) -> None:
        self.words += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def test_grid_has_a_row_per_stack_with_every_verdict(every_verdict: dict[str, Any]) -> None:
    text = render_markdown(every_verdict)
    row = next(line for line in text.splitlines() if line.startswith("| `torch2.15.0-py311` | \N{BALLOT X}"))
    assert "**incorrect**<br>trained-cpu" in row
    assert "**drifted**" in row
    assert row.count("|") == 5
    for cell in every_verdict["cells"]:
        assert f"**{cell['verdict']}**" in text


def test_reads_as_markup_free_text_whatever_the_strings_hold(every_verdict: dict[str, Any]) -> None:
    page = Page(render_markdown(every_verdict))
    allowed = {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong", "code", "br"}
    assert {name for name, _ in page.elements} <= allowed | {"details", "summary", "pre"}
    assert "a | pipe, `code`, *stars*, [link](javascript:alert(1)), @someone" in page.words
    assert "<script>document.title='owned'</script>" in page.words
    assert "\x00" not in page.words
    assert "\x1b" not in page.words


def test_tables_stay_whole_and_details_close(every_verdict: dict[str, Any]) -> None:
    page = Page(render_markdown(every_verdict))
    checks = sum(len(cell["checks"]) for cell in every_verdict["cells"] if cell["verdict"] != "certified")
    rows = 6 + 3 + 6 + checks
    headers = 3 + sum(bool(cell["checks"]) for cell in every_verdict["cells"] if cell["verdict"] != "certified")
    assert page.count("tr") == rows + headers
    assert page.count("details") == 7 + 1


def test_broken_cell_shows_its_log(every_verdict: dict[str, Any]) -> None:
    assert "ImportError: libcudart.so.13: cannot open shared object file" in Page(render_markdown(every_verdict)).words


def test_long_log_keeps_its_end(certified: dict[str, Any], sample: dict[str, Any]) -> None:
    cell = certified["cells"][0]
    sample["mark_broken"](cell)
    cell["log"] = [f"line {number}" for number in range(LOG_LINES + 5)]
    text = render_markdown(certified)
    assert "(5 earlier lines left out)" in text
    assert f"line {LOG_LINES + 4}" in text
    assert "line 4\n" not in text


def test_reference_says_who_stands_apart(every_verdict: dict[str, Any]) -> None:
    text = render_markdown(every_verdict)
    assert "| 3.10e-15 | \N{CHECK MARK} yes" in text
    assert "\N{BALLOT X} no: tensorflow stands apart at step 12" in text


@pytest.mark.parametrize("name", ["certified", "large", "empty"])
def test_all_certified_has_no_reasons_section(name: str, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(name)
    assert ("## Reasons" in render_markdown(report)) == (name == "large")

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

from stackproof.matrix.report.details import MOST_POINTS, thin
from stackproof.matrix.report.html import embed, render_html
from stackproof.matrix.report.model import as_report
from stackproof.matrix.report.overview import lay_out_speeds


class Page(HTMLParser):
    """The elements of a page with their attributes, and the content of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.raw: list[tuple[str, str]] = []
        self.words = ""
        self._open: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._open = tag if tag in {"script", "style"} else None

    def handle_endtag(self, tag: str) -> None:
        self._open = None if tag == self._open else self._open

    def handle_data(self, data: str) -> None:
        if self._open:
            self.raw.append((self._open, data))
        else:
            self.words += data

    def having(self, attribute: str) -> list[dict[str, str]]:
        return [attributes for _, attributes in self.elements if attribute in attributes]


def data_of(page: Page) -> dict[str, Any]:
    return json.loads(next(text for tag, text in page.raw if tag == "script"))


def test_every_cell_says_its_verdict_and_level(every_verdict: dict[str, Any]) -> None:
    tiles = Page(render_html(every_verdict)).having("data-cell")
    expected = [(cell["id"].strip(), cell["verdict"], cell["level"]) for cell in every_verdict["cells"]]
    found = [(tile["data-cell"].strip(), tile["data-verdict"], tile["data-level"]) for tile in tiles]
    assert sorted(found) == sorted(expected)


def test_levels_that_no_cell_reached_stand_in_the_legend_alone(certified: dict[str, Any]) -> None:
    page = render_html(certified)
    assert page.count("trained-gpu") == 1
    assert page.index("trained-gpu") > page.index("What the words mean")


def test_nothing_is_loaded_from_anywhere(every_verdict: dict[str, Any]) -> None:
    page = Page(render_html(every_verdict))
    links = [value for _, attributes in page.elements for name, value in attributes.items() if name in {"src", "href"}]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    styles = "".join(text for tag, text in page.raw if tag == "style")
    assert "url(" not in styles
    assert "@import" not in styles


def test_policy_admits_exactly_the_script_and_style_of_the_page(every_verdict: dict[str, Any]) -> None:
    page = Page(render_html(every_verdict))
    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    style = next(text for tag, text in page.raw if tag == "style")
    script = [text for tag, text in page.raw if tag == "script"][1]
    for text in (style, script):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not page.having("style")
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_hostile_strings_stay_text(every_verdict: dict[str, Any]) -> None:
    page = Page(render_html(every_verdict))
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert "img" not in {tag for tag, _ in page.elements}
    assert "<script>document.title='owned'</script>" in page.words
    cell = data_of(page)["cells"][-1]
    assert "<img src=x onerror=alert(1)>" in cell["reasons"][0]
    assert "]]> & ]]>" in cell["log"]


def test_embedded_json_cannot_end_its_script() -> None:
    given = {"a": "</script><!-- & \u2028\u2029 \ud800"}
    text = embed(given)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text)["a"].startswith("</script><!-- & \u2028\u2029 ")


def test_first_step_outside_is_named_and_drawn(every_verdict: dict[str, Any]) -> None:
    cells = {cell["id"]: cell for cell in data_of(Page(render_html(every_verdict)))["cells"]}
    loss, norm = cells["torch2.15.0-py311-gpt_tiny"]["curves"]
    assert loss["first_outside"] is None
    assert norm["first_outside"] == 3
    assert norm["steps"][0] == 1
    assert norm["difference"][2] > norm["allowed"][2]


def test_value_that_is_not_finite_counts_as_outside(certified: dict[str, Any]) -> None:
    certified["cells"][0]["curves"]["loss"][6] = float("nan")
    loss = data_of(Page(render_html(certified)))["cells"][0]["curves"][0]
    assert loss["first_outside"] == 7
    assert loss["values"][6] is None


def test_thinning_keeps_ends_decisive_steps_and_peaks() -> None:
    count = 5000
    apart = [1e-9] * count
    apart[1234] = 0.9
    kept = thin(apart, [1.0] * count, [777])
    assert {0, 777, 1234, count - 1} <= set(kept)
    assert len(kept) <= MOST_POINTS + 3
    assert kept == sorted(set(kept))
    assert thin(apart[:MOST_POINTS], [1.0] * MOST_POINTS, []) == list(range(MOST_POINTS))


def test_speeds_lie_on_one_logarithmic_axis(certified: dict[str, Any]) -> None:
    first, second = (cell for cell in certified["cells"][2:4])
    first["throughput"].update(ratio=0.5, low=0.5, high=0.5)
    second["throughput"].update(ratio=2.0, low=2.0, high=2.0)
    for cell in certified["cells"][4:]:
        cell["throughput"] = None
    speeds = lay_out_speeds(as_report(certified))
    assert speeds is not None
    (_, [half]), (_, [double]) = speeds.specs
    one = next(tick.at for tick in speeds.ticks if tick.label == "1")
    assert one - half.at == pytest.approx(double.at - one, abs=0.02)
    assert half.low == half.at == half.high


def test_no_ratio_no_chart(certified: dict[str, Any]) -> None:
    for cell in certified["cells"]:
        cell["throughput"] = None
    assert lay_out_speeds(as_report(certified)) is None
    assert "Throughput against the baseline" not in render_html(certified)


def test_ticks_never_crowd(large: dict[str, Any]) -> None:
    speeds = lay_out_speeds(as_report(large))
    assert speeds is not None
    places = [tick.at for tick in speeds.ticks]
    assert all(right - left >= 11 for left, right in pairwise(places))


def test_large_matrix_stays_a_small_file(large: dict[str, Any]) -> None:
    page = render_html(large)
    assert len(Page(page).having("data-cell")) == 120
    assert len(page.encode()) < 1_500_000


def test_matrix_without_cells_is_a_page_too(empty: dict[str, Any]) -> None:
    assert "0 of 0 cells certified" in Page(render_html(empty)).words


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_the_contrast_that_wcag_aa_asks_for(certified: dict[str, Any], scheme: int) -> None:
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", render_html(certified))
    colours = {name: pair[scheme] for name, *pair in found}
    verdicts = [name.removesuffix("-tint") for name in colours if name.endswith("-tint")]
    assert len(verdicts) == 7
    pairs = [(verdict, f"{verdict}-tint") for verdict in verdicts]
    pairs += [("soft", f"{verdict}-tint") for verdict in verdicts]
    for ground in ("page", "surface", "sunken"):
        pairs += [(name, ground) for name in ("ink", "soft", "accent", *verdicts)]
    weak = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 4.5} == {}

"""Cells in images in every report: the image where locks are shown, its checks where checks are, its stage in order."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from stackproof.matrix.report.details import details
from stackproof.matrix.report.html import render_html
from stackproof.matrix.report.junit import render_junit
from stackproof.matrix.report.markdown import render_markdown
from stackproof.matrix.report.model import as_report, check_names
from stackproof.matrix.report.terminal import render_terminal

LOOKED = ["linking", "cuda-libraries", "architectures", "symbols", "packages", "hygiene", "drivers"]
HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[2J | `a`"


@pytest.fixture
def in_images(certified: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    for cell in certified["cells"]:
        sample["put_in_image"](cell)
    return certified


def images_table(text: str) -> list[list[str]]:
    section = text.partition("## Images\n\n")[2].partition("\n\n")[0]
    return [[field.strip() for field in line.strip("|").split(" | ")] for line in section.splitlines()]


def opened(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cells as the page's script gets them."""
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', render_html(report), re.DOTALL)
    assert data is not None
    cells: list[dict[str, Any]] = json.loads(data[1])["cells"]
    return cells


def test_markdown_lists_the_image_of_each_stack_with_digest_base_and_layers(in_images: dict[str, Any]) -> None:
    header, _, *rows = images_table(render_markdown(in_images))
    assert header == ["stack", "image", "engine", "content", "base", "size", "of which"]
    assert len(rows) == 6
    image = in_images["cells"][0]["image"]
    assert rows[0] == [
        "`torch2.13.0-py311`",
        f"`{image['reference']}`",
        "docker",
        f"`{image['content_digest'][:12]}`",
        "debian:bookworm",
        "4.2 GiB",
        "base 130.0 MiB, cuda 3.0 GiB, framework 1.0 GiB, application 94.0 MiB",
    ]


def test_markdown_of_venvs_has_no_word_of_images(certified: dict[str, Any], every_verdict: dict[str, Any]) -> None:
    for report in (certified, every_verdict):
        assert "## Images" not in render_markdown(report)
        report["cells"][0]["image"] = None
        assert "## Images" not in render_markdown(report)


def test_markdown_takes_the_image_of_a_stack_from_any_of_its_cells(
    certified: dict[str, Any], sample: dict[str, Any]
) -> None:
    certified["cells"][0]["image"] = None
    sample["put_in_image"](certified["cells"][1])
    rows = images_table(render_markdown(certified))[2:]
    assert [row[0] for row in rows] == ["`torch2.13.0-py311`"]


def test_markdown_shows_the_checks_of_an_image_that_fails(in_images: dict[str, Any], sample: dict[str, Any]) -> None:
    cell = in_images["cells"][2]
    cell["checks"] = cell["checks"][len(LOOKED) :]
    sample["put_in_image"](cell, "hygiene", "symbols")
    text = render_markdown(in_images)
    assert "| hygiene | \N{BALLOT X} fail | what hygiene found | none | hygiene decides |" in text
    assert "| linking | \N{CHECK MARK} pass | what linking found | none | linking decides |" in text
    assert "  - hygiene decides\n  - symbols decides" in text


def test_the_page_shows_name_base_digest_and_layers_of_an_image(in_images: dict[str, Any]) -> None:
    cell, image = opened(in_images)[0], in_images["cells"][0]["image"]
    assert cell["image"]["name"] == image["reference"]
    assert cell["image"]["base"] == image["base"]
    assert cell["image"]["id"] == image["id"]
    assert cell["image"]["note"] == "4.2 GiB, made and run by docker"
    assert [layer["name"] for layer in cell["image"]["layers"]] == ["base", "cuda", "framework", "application"]
    assert cell["image"]["layers"][1]["label"] == "3.0 GiB"
    assert sum(layer["share"] for layer in cell["image"]["layers"]) == pytest.approx(1.0)
    assert ["Image", in_images["cells"][0]["image_digest"]] in cell["digests"]
    assert [check["name"] for check in cell["checks"]][: len(LOOKED)] == LOOKED


def test_the_page_shows_the_inspection_between_build_and_run(in_images: dict[str, Any]) -> None:
    stages = [stage["name"] for stage in opened(in_images)[0]["stages"]]
    assert stages == ["resolve", "build", "inspect", "run", "measure"]


def test_the_page_has_no_part_for_an_image_that_is_not_there(certified: dict[str, Any]) -> None:
    assert opened(certified)[0]["image"] is None
    certified["cells"][0]["image"] = None
    assert opened(certified)[0]["image"] is None


def test_an_image_without_layers_is_shown_without(in_images: dict[str, Any]) -> None:
    in_images["cells"][0]["image"].update(size=0, layers=[["base", 0]])
    (layer,) = opened(in_images)[0]["image"]["layers"]
    assert (layer["share"], layer["label"]) == (0.0, "0 B")
    assert "| 0 B | base 0 B |" in render_markdown(in_images)


def test_names_of_an_engine_stay_text(in_images: dict[str, Any]) -> None:
    for cell in in_images["cells"]:
        cell["image"].update(reference=HOSTILE, base=HOSTILE, engine=HOSTILE, layers=[[HOSTILE, 1]])
    page = render_html(in_images)
    assert "<img" not in page
    assert "\x1b" not in page
    assert "\\u001b" not in page
    shown = MarkdownIt("commonmark", {"html": True}).enable("table").render(render_markdown(in_images))
    assert "<img" not in shown
    assert "\x1b" not in render_markdown(in_images)
    assert all(len(row) == 7 for row in images_table(render_markdown(in_images)))
    assert details(as_report(in_images))["cells"][0]["image"]["name"].startswith("</script>")


def test_junit_has_a_case_for_each_check_of_an_image(in_images: dict[str, Any], sample: dict[str, Any]) -> None:
    cell = in_images["cells"][0]
    cell["checks"] = cell["checks"][len(LOOKED) :]
    sample["put_in_image"](cell, "architectures")
    cell["verdict"] = "incompatible"
    root = ET.fromstring(render_junit(in_images).encode())  # noqa: S314 - our own output
    found = [case for case in root.iter("testcase") if case.attrib["name"].endswith(f"[{cell['id']}]")]
    names = [case.attrib["name"].partition("[")[0] for case in found]
    assert names[: len(LOOKED)] == LOOKED
    (failure,) = [case.find("failure") for case in found if case.find("failure") is not None]
    assert failure is not None
    assert failure.attrib == {"message": "architectures decides", "type": "incompatible"}


def test_a_terminal_shows_a_mark_for_each_check_of_an_image(in_images: dict[str, Any], sample: dict[str, Any]) -> None:
    cell = in_images["cells"][0]
    cell["checks"] = cell["checks"][len(LOOKED) :]
    sample["put_in_image"](cell, "drivers")
    assert check_names(as_report(in_images))[: len(LOOKED)] == LOOKED
    wide = render_terminal(in_images, width=250)
    assert all(name in wide.splitlines()[0] for name in LOOKED)
    narrow = render_terminal(in_images, width=100)
    assert all(len(line) <= 100 for line in narrow.splitlines())
    assert "drivers decides" in narrow
    assert "drivers decides" in render_terminal(in_images)

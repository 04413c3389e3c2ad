"""Every report says of a cell that was not tried which rule, what is wrong, how to mend it and where more is said."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from stackproof.matrix.report.html import render_html
from stackproof.matrix.report.junit import render_junit
from stackproof.matrix.report.markdown import render_markdown
from stackproof.matrix.report.terminal import render_terminal
from stackproof.matrix.report.write import render_json

if TYPE_CHECKING:
    from collections.abc import Callable

CELL = "jax0.9.2-py311-gpt_tiny"
WHAT = "SP507: numpy 1.26.4 does not meet what jax 0.9.2 declares: numpy>=2.0."
MEND = "mend: numpy==2.4.6; or jax==0.6.2"
MORE = "stackproof explain SP507 says more"


@pytest.mark.parametrize("render", [render_html, render_junit, render_markdown, render_terminal, render_json])
def test_a_report_names_rule_message_mend_and_page(render: Callable[[Any], str], every_verdict: dict[str, Any]) -> None:
    text = html.unescape(render(every_verdict))
    assert CELL in text
    for said in (WHAT, MEND, MORE):
        assert said in text


def test_junit_has_one_failure_that_begins_with_the_code(every_verdict: dict[str, Any]) -> None:
    root = ET.fromstring(render_junit(every_verdict).encode())  # noqa: S314 - our own output
    (case,) = [case for case in root.iter("testcase") if case.attrib["name"].endswith(f"[{CELL}]")]
    assert case.attrib["name"] == f"verdict[{CELL}]"
    (failure,) = case
    assert (failure.tag, failure.attrib) == ("failure", {"message": WHAT, "type": "incompatible"})
    assert str(failure.text).splitlines()[1:3] == [MEND, MORE]


def test_a_plain_line_of_the_terminal_has_the_code(every_verdict: dict[str, Any]) -> None:
    line = next(line for line in render_terminal(every_verdict).splitlines() if f" {CELL} " in line)
    assert line.startswith("incompatible")
    assert line.endswith(WHAT)

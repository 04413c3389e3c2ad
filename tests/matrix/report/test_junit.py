from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from stackproof.matrix.report.junit import render_junit

# Attributes and order of children in the schema that Jenkins' xUnit plug-in validates against.
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors", "skipped"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-err": set(),
}
CHILDREN = {
    "testsuites": ["testsuite"],
    "testsuite": ["testcase"],
    "testcase": ["skipped", "error", "failure", "system-err"],
}


def parse(report: dict[str, Any]) -> ET.Element:
    return ET.fromstring(render_junit(report).encode())  # noqa: S314 - our own output


def cases(root: ET.Element, cell: str) -> dict[str, ET.Element]:
    found = [case for case in root.iter("testcase") if case.attrib["name"].endswith(f"[{cell}]")]
    return {case.attrib["name"].partition("[")[0]: case for case in found}


@pytest.mark.parametrize("name", ["certified", "every_verdict", "large", "empty"])
def test_keeps_to_the_schema_and_counts_right(name: str, request: pytest.FixtureRequest) -> None:
    root = parse(request.getfixturevalue(name))
    for element in root.iter():
        assert set(element.attrib) <= ATTRIBUTES[element.tag]
        order = [CHILDREN.get(element.tag, []).index(child.tag) for child in element]
        assert order == sorted(order)
    for holder in [root, *root.findall("testsuite")]:
        assert int(holder.attrib["tests"]) == len(list(holder.iter("testcase")))
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(holder.attrib[count]) == len(list(holder.iter(tag)))


def test_one_suite_per_spec_and_one_case_per_check(certified: dict[str, Any]) -> None:
    root = parse(certified)
    assert [suite.attrib["name"] for suite in root] == ["gpt_tiny", "mlp_tiny"]
    assert list(cases(root, "jax0.10.2-py311-gpt_tiny")) == [
        "trajectory",
        "reference",
        "determinism",
        "versions",
        "throughput",
    ]
    assert {case.attrib["classname"] for case in root[0]} == {"quickstart.gpt_tiny"}
    names = [case.attrib["name"] for case in root.iter("testcase")]
    assert len(names) == len(set(names)) == 60


def test_failing_check_is_a_failure_that_says_all(every_verdict: dict[str, Any]) -> None:
    failure = cases(parse(every_verdict), "torch2.15.0-py311-gpt_tiny")["trajectory"].find("failure")
    assert failure is not None
    assert failure.attrib["message"].startswith("left the envelope at step 3 (grad_norm)")
    assert failure.attrib["type"] == "incorrect"
    assert "measured: 4.08\nallowed: 1\n" in (failure.text or "")


def test_skip_has_its_reason(every_verdict: dict[str, Any]) -> None:
    root = parse(every_verdict)
    skipped = cases(root, "torch2.13.0-py311-gpt_tiny")["throughput"].find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "this is the baseline"
    untested = cases(root, "jax0.9.2-py311-mlp_tiny")["verdict"].find("skipped")
    assert untested is not None
    assert untested.attrib["message"] == "left out by --cell"


def test_broken_cell_is_an_error_with_its_log(every_verdict: dict[str, Any]) -> None:
    case = cases(parse(every_verdict), "tensorflow-cpu2.21.0-py311-mlp_tiny")["verdict"]
    error = case.find("error")
    assert error is not None
    assert error.attrib["message"].startswith("the worker ended with exit code 1")
    assert "ImportError: libcudart.so.13" in (case.findtext("system-err") or "")


def test_drift_fails_no_build_and_is_not_hidden(every_verdict: dict[str, Any]) -> None:
    case = cases(parse(every_verdict), "torch2.15.0-py311-mlp_tiny")["trajectory"]
    skipped = case.find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"].startswith("drifted: drifts out of the envelope first in loss at step 30")


@pytest.mark.parametrize("verdict", ["incorrect", "regressed", "incompatible"])
def test_bad_verdict_without_a_failing_check_still_fails(certified: dict[str, Any], verdict: str) -> None:
    certified["cells"][0].update(verdict=verdict, reasons=["because"])
    failure = cases(parse(certified), certified["cells"][0]["id"])["verdict"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "because"


def test_hostile_strings_come_back_without_control_characters(every_verdict: dict[str, Any]) -> None:
    text = render_junit(every_verdict)
    assert not [letter for letter in text if ord(letter) < 32 and letter not in "\n\t"]
    assert "\ufffe" not in text
    logs = [log.text or "" for log in ET.fromstring(text.encode()).iter("system-err")]  # noqa: S314 - our own output
    assert any("</script><script>document.title='owned'</script>" in log and "]]> & ]]>" in log for log in logs)


def test_times_add_up_to_the_cells(certified: dict[str, Any]) -> None:
    root = parse(certified)
    cell = certified["cells"][3]
    found = cases(root, cell["id"])
    assert float(found["throughput"].attrib["time"]) == pytest.approx(cell["seconds"]["measure"], abs=1e-3)
    total = sum(float(case.attrib["time"]) for case in found.values())
    assert total == pytest.approx(sum(cell["seconds"].values()), abs=5e-3)
    assert float(root.attrib["time"]) == pytest.approx(certified["totals"]["seconds"], abs=0.1)

"""`junit.xml`: one testsuite per spec, one testcase per cell and check, as CI systems read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from .model import as_report
from .wording import clean, interval, number, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...compat.verdict import Verdict
    from .model import CellEntry, CheckEntry, Report

# What a cell's verdict is in a CI system's words where no check of the cell says so already.
_VERDICT_ELEMENTS: Final[dict[Verdict, str]] = {
    "broken": "error",
    "incorrect": "failure",
    "regressed": "failure",
    "incompatible": "failure",
    "untested": "skipped",
}


@dataclass(frozen=True)
class _Case:
    """One testcase; `element` is None where it passed."""

    name: str
    element: str | None
    kind: str
    message: str
    body: str
    seconds: float
    log: str = ""


def render_junit(report: Mapping[str, Any]) -> str:
    """Return the report as JUnit XML in UTF-8.

    A failing check is a failure, a skipped one is skipped. A cell that is broken is an error with its log; one whose
    verdict no check explains gets a testcase of its own named `verdict`, so that nothing bad passes unseen. What only
    drifted fails no build, here as in the exit code: it is skipped, and the message begins with `drifted`.
    """
    entries = as_report(report)
    root = ET.Element("testsuites", {"name": _attribute(f"stackproof {entries['matrix']}")})
    for spec in dict.fromkeys(cell["spec"] for cell in entries["cells"]):
        cells = [cell for cell in entries["cells"] if cell["spec"] == spec]
        _suite(root, entries, spec, cells)
    suites = list(root)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    root.set("time", f"{sum(float(suite.attrib['time']) for suite in suites):.3f}")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, report: Report, spec: str, cells: list[CellEntry]) -> None:
    cases = [(cell, case) for cell in cells for case in _cases(cell)]
    elements = [case.element for _, case in cases]
    suite = ET.SubElement(
        root,
        "testsuite",
        {
            "name": _attribute(spec),
            "tests": str(len(cases)),
            "failures": str(elements.count("failure")),
            "errors": str(elements.count("error")),
            "skipped": str(elements.count("skipped")),
            "time": f"{sum(case.seconds for _, case in cases):.3f}",
            # Consumers with the old schema accept no time zone; the time is UTC.
            "timestamp": report["created"].removesuffix("Z"),
        },
    )
    for cell, case in cases:
        _testcase(suite, f"{report['matrix']}.{spec}", cell, case)


def _testcase(suite: ET.Element, classname: str, cell: CellEntry, case: _Case) -> None:
    attributes = {
        "name": _attribute(f"{case.name}[{cell['id']}]"),
        "classname": _attribute(classname),
        "time": f"{case.seconds:.3f}",
    }
    found = ET.SubElement(suite, "testcase", attributes)
    if case.element == "skipped":
        ET.SubElement(found, "skipped", {"message": _attribute(case.message)})
    elif case.element:
        said = {"message": _attribute(case.message), "type": case.kind}
        ET.SubElement(found, case.element, said).text = clean(case.body)
    if case.log:
        ET.SubElement(found, "system-err").text = clean(case.log)


def _cases(cell: CellEntry) -> list[_Case]:
    cases = [_check_case(cell, check) for check in cell["checks"]]
    explained = any(case.element == "failure" for case in cases) and cell["verdict"] != "broken"
    if not explained and (cell["verdict"] in _VERDICT_ELEMENTS or not cases):
        cases.insert(0, _verdict_case(cell))
    return _with_seconds(cell, cases)


def _check_case(cell: CellEntry, check: CheckEntry) -> _Case:
    element = {"pass": None, "fail": "failure", "skip": "skipped"}[check["outcome"]]
    if element == "failure" and cell["verdict"] == "drifted":
        return _Case(check["name"], "skipped", cell["verdict"], f"drifted: {check['why']}", "", 0.0)
    lines = [f"measured: {number(check['measured'])}", f"allowed: {number(check['allowed'])}", check["why"]]
    return _Case(check["name"], element, cell["verdict"], check["why"], "\n".join([*lines, *_about(cell)]), 0.0)


def _verdict_case(cell: CellEntry) -> _Case:
    element = _VERDICT_ELEMENTS.get(cell["verdict"])
    message = cell["reasons"][0] if cell["reasons"] else cell["verdict"]
    body = "\n".join([*cell["reasons"], *_about(cell)])
    return _Case("verdict", element, cell["verdict"], message, body, 0.0, "\n".join(cell["log"] or []))


def _about(cell: CellEntry) -> list[str]:
    lines = [f"cell: {cell['id']}", f"verdict: {cell['verdict']}", f"level: {cell['level']}"]
    return [*lines, f"throughput: {interval(cell)}"] if cell["throughput"] else lines


def _with_seconds(cell: CellEntry, cases: list[_Case]) -> list[_Case]:
    """Give the throughput check the time of measuring and the first testcase the rest: they add up to the cell's."""
    measuring = sum(cell["seconds"].get(stage, 0.0) for stage in ("measure", "throughput"))
    own = measuring if len(cases) > 1 and cases[-1].name == "throughput" else 0.0
    times = [0.0] * len(cases)
    times[-1] += own
    times[0] += sum(cell["seconds"].values()) - own
    return [_Case(**{**vars(case), "seconds": time}) for case, time in zip(cases, times, strict=True)]


def _attribute(value: str) -> str:
    return one_line(value)

"""How well `check` judges real, public reports of stacks that failed, or that failed for another reason.

Each case is fed as a user would: its environment as stack.json, and the facts of its text pasted beside it. What a
binary was built against is left out of the environment, as nobody could know it before. The cases' conventions are in
benchmarks/cases/README.md; cases whose expected verdict contradicts published metadata, or rests on what is not fed,
are counted apart.

    python benchmarks/incompatibilities.py [--cases FILE] [--feed both|json|text] [--wrong] [--json] [--quick]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from figures import finish

from stackproof.compat.check import Answer, check
from stackproof.compat.readers import read_inputs

CASES: Final = Path(__file__).parent / "cases" / "incompatibilities.json"
_DISPUTED: Final = Path(__file__).parent / "cases" / "disputed.json"
_REQUIRED: Final = {
    "verdict_right": {"at_least": 0.95},
    "components_overlap": {"at_least": 0.90},
    "false_alarms": {"at_most": 0.0},
}
# What reports call a component, by the name that findings use.
_SAME: Final = {
    "cuda_toolkit": "cuda",
    "container": "cuda",
    "cudatoolkit": "cuda",
    "nvrtc": "cuda",
    "nvidia-*": "nvidia",
}


@dataclass(frozen=True)
class Judged:
    """A case and what was answered."""

    case: dict[str, Any]
    answer: Answer

    @property
    def is_right(self) -> bool:
        """Return whether the verdict is the expected one; a case with at most a warning may not have an error."""
        return self.answer.verdict == self.case["expected"]["verdict"]

    @property
    def is_false_alarm(self) -> bool:
        """Return whether something that works was called incompatible."""
        return self.case["expected"]["verdict"] == "compatible" and self.answer.verdict == "incompatible"

    @property
    def overlaps(self) -> bool | None:
        """Return whether a finding names a component of the report; None where the report names none."""
        expected = {_canonical(name) for name in self.case["expected"]["components"]}
        named = {_canonical(name) for finding in self.answer.findings for name in finding.components}
        named |= {"nvidia"} if any(name.startswith("nvidia-") for name in named) else set()
        return bool(expected & named) if expected else None


def _canonical(name: str) -> str:
    plain = name.partition("[")[0].removeprefix("system ").strip()
    return _SAME.get(plain, plain)


def judge(case: dict[str, Any], feed: str) -> Judged:
    """Return what `check` says of a case."""
    environment = {key: value for key, value in case["environment"].items() if key != "built_against"}
    inputs = []
    if feed != "text":
        inputs.append(("stack.json", json.dumps(environment).encode()))
    if feed != "json" and case.get("raw_excerpt_facts"):
        inputs.append(("pasted text", "\n".join(case["raw_excerpt_facts"]).encode()))
    return Judged(case, check(read_inputs(inputs).describe()))


def main() -> int:
    """Judge every case and print how it went, by kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--feed", choices=("both", "json", "text"), default="both")
    parser.add_argument("--wrong", action="store_true", help="show every case whose verdict is not the expected one")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="the whole takes seconds: nothing is left out")
    options = parser.parse_args()
    judged = [judge(case, options.feed) for case in json.loads(options.cases.read_text(encoding="utf-8"))]
    if options.wrong:
        _show_wrong(judged)
    static = [entry for entry in judged if entry.case["determinable_statically"]]
    disputed = json.loads(_DISPUTED.read_text(encoding="utf-8"))
    settled = [entry for entry in static if entry.case["id"] not in disputed]
    overlaps = [entry.overlaps for entry in static if entry.overlaps is not None]
    figures = {
        "verdict_right": sum(entry.is_right for entry in settled) / max(1, len(settled)),
        "verdict_right_with_disputed": sum(entry.is_right for entry in static) / max(1, len(static)),
        "components_overlap": sum(overlaps) / max(1, len(overlaps)),
        "false_alarms": float(sum(entry.is_false_alarm for entry in judged)),
        "statically_determinable": float(len(static)),
        "disputed": float(len(static) - len(settled)),
        "cases": float(len(judged)),
    }
    return finish("incompatibilities", figures, _REQUIRED, as_json=options.json, rows=_table(judged))


def _table(judged: list[Judged]) -> list[list[str]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in judged:
        count = counts[entry.case["kind"]]
        count["cases"] += 1
        count["right"] += entry.is_right
        count["false"] += entry.is_false_alarm
        if entry.case["determinable_statically"]:
            count["static"] += 1
            count["static right"] += entry.is_right
        if entry.overlaps is not None:
            count["named"] += 1
            count["overlap"] += entry.overlaps
    head = ["kind", "cases", "right", "static", "right", "components right", "false alarms"]
    rows = [
        [
            kind,
            *(str(count[key]) for key in ("cases", "right", "static", "static right")),
            f"{count['overlap']}/{count['named']}",
            str(count["false"]),
        ]
        for kind, count in sorted(counts.items())
    ]
    return [head, *rows]


def _show_wrong(judged: list[Judged]) -> None:
    for entry in judged:
        if not entry.is_right or entry.overlaps is False:
            said = "; ".join(
                f"{finding.code} {finding.severity} {finding.message}" for finding in entry.answer.findings
            )
            static = "" if entry.case["determinable_statically"] else " (not statically determinable)"
            expected = entry.case["expected"]
            sys.stderr.write(
                f"{entry.case['id']}{static}: expected {expected['verdict']} {expected['components']}, "
                f"got {entry.answer.verdict}: {said or 'nothing'}\n"
            )


if __name__ == "__main__":
    sys.exit(main())

"""How much of ONNX's own suite of operators passes on each framework.

Every node case of the installed `onnx` counts, but those that hold strings or decode images; they are named in the
output, and the shares of all cases, with them as failures, are printed too. A case fails when the model is refused,
when a value, dtype or shape differs, when it takes too long, and when the framework's process dies. What fails must be
listed in expected_failures.toml, and what is listed must fail.

    python benchmarks/onnx_suite.py [--json] [--quick] [--compiled] [--gradients] [--write-docs]
    python benchmarks/onnx_suite.py --backend jax --python PATH --op Resize,TopK -v
    python benchmarks/onnx_suite.py --python torch=PATH --python jax=PATH --only test_lstm

Without --python the frameworks' environments are made at their pins and kept in the cache folder. --op and --only
select cases; no figure is required of a selection. --compiled runs the cases as the framework compiles them, with the
integers that shapes are made of as constants. --gradients compares the frameworks' gradients with each other. With
--write-docs the whole suite and the gradients are run, and docs/operators.md is written.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from expected_failures import TARGETS, read_expected, surprises, unmatched
from figures import finish
from suite_cases import counted, operators_of
from suite_figures import count, required, tell, tell_exclusions
from suite_gradients import check_gradients, chosen_operators, gradient_figures, gradient_limits
from suite_page import write_page
from suite_runs import Choice, make_python, run_all

from stackproof.compat.errors import StackproofError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Outcomes = Mapping[str, Mapping[str, str]]

# One of so many cases is in the sample of --quick.
_QUICK_STEP = 37


def main() -> int:
    """Measure, print, and say whether the figures hold."""
    options = read_options()
    warnings.simplefilter("ignore")  # ONNX's generators overflow and divide by zero on purpose
    choice = choose(options)
    if options.gradients:
        return conclude_gradients(choice, options)
    outcomes = run_all(choice, compiled=options.compiled)
    if options.v:
        tell(outcomes)
    if options.op or options.only:
        for target, found in outcomes.items():
            print(f"{target}: {sum(not why for why in found.values())} of {len(found)} pass")
        return 0
    return conclude(choice, outcomes, options)


def conclude_gradients(choice: Choice, options: argparse.Namespace) -> int:
    """Compare gradients, print the figures and what failed."""
    checked = check_gradients(choice.pythons, chosen_operators(options.op, quick=options.quick))
    figures, rows = gradient_figures(checked)
    if options.v:
        print(*(line for found in checked.values() for line in found.failures), sep="\n")
    return finish(
        "onnx_suite_gradients",
        figures,
        gradient_limits(figures, choice.pythons),
        as_json=options.json,
        rows=rows,
    )


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help=f"every {_QUICK_STEP}th case")
    parser.add_argument("--backend", action="append", choices=TARGETS, help="default: each of them")
    parser.add_argument("--python", action="append", default=[], metavar="[NAME=]PATH", help="an environment's Python")
    parser.add_argument("--op", default="", help="cases in which one of these operators occurs")
    parser.add_argument("--only", default="", help="cases whose names match")
    parser.add_argument("-v", action="store_true", help="name what fails, and why")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    if options.write_docs and (options.op or options.only or options.quick or options.compiled or options.backend):
        parser.error("--write-docs goes with a run of everything on each framework")
    return options


def choose(options: argparse.Namespace) -> Choice:
    """Return what the options select."""
    given = dict(word.split("=", 1) if "=" in word else ("", word) for word in options.python)
    names = options.backend or [name for name in given if name] or TARGETS
    pythons = {name: given.get(name) or given.get("") or make_python(name) for name in names}
    cases = dict(counted())
    if options.op or options.only:
        wanted = set(options.op.split(",")) if options.op else set()
        cases = {
            name: case
            for name, case in cases.items()
            if re.search(options.only, name) and (not wanted or wanted & operators_of(case))
        }
    elif options.quick:
        cases = dict(list(cases.items())[::_QUICK_STEP])
    return Choice(cases, pythons, not (options.op or options.only or options.quick))


def conclude(choice: Choice, outcomes: Outcomes, options: argparse.Namespace) -> int:
    """Print the figures and what differs from the list of expected failures."""
    figures, rows = count(choice, outcomes)
    if options.compiled:
        return finish("onnx_suite_compiled", figures, {}, as_json=options.json, rows=rows)
    entries = read_expected()
    lines = [line for target, found in outcomes.items() for line in surprises(entries, found, target)]
    if choice.whole:
        lines += [f"expected_failures.toml names {case}, which is no case" for case in unmatched(entries, counted())]
    figures["surprises"] = len(lines)
    print(*lines, sep="\n", end="\n" if lines else "", file=sys.stderr if options.json else sys.stdout)
    if not options.json:
        tell_exclusions()
    if options.quick and not options.json:
        print(f"--quick: every {_QUICK_STEP}th case")
    limits = required(choice, outcomes)
    if options.write_docs:
        checked = check_gradients(choice.pythons, chosen_operators("", quick=False))
        figures |= gradient_figures(checked)[0]
        limits |= gradient_limits(figures, choice.pythons)
        write_page(outcomes, figures, checked, choice.pythons)
    return finish("onnx_suite", figures, limits, as_json=options.json, rows=rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StackproofError as error:
        sys.exit(str(error))

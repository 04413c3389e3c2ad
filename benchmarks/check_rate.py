"""How many stacks `check` judges in a second on one core.

The full cross product of torch builds, driver branches, GPUs and Pythons is judged, each stack as a description of its
own. --quick takes every twentieth build.

    python benchmarks/check_rate.py [--json] [--quick]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from figures import finish

from stackproof.compat.check import Checker
from stackproof.compat.described import describe
from stackproof.compat.facts import load_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stackproof.compat.described import Description

_PYTHONS: Final = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
_GPUS: Final = (
    "Tesla K80",
    "Tesla P100",
    "V100",
    "T4",
    "GeForce RTX 2080 Ti",
    "A100",
    "A10",
    "RTX A6000",
    "GeForce RTX 3090",
    "L4",
    "L40S",
    "GeForce RTX 4090",
    "H100",
    "H200",
    "B200",
    "GeForce RTX 5090",
)
_REQUIRED: Final = {"stacks": {"at_least": 200_000.0}, "stacks_per_second": {"at_least": 20_000.0}}
_QUICK: Final = 20


def main() -> int:
    """Judge the cross product and print how fast that went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="every twentieth torch build only; says so")
    options = parser.parse_args()
    step = _QUICK if options.quick else 1
    verdicts: Counter[str] = Counter()
    checker = Checker()
    start = time.process_time()
    for description in _stacks(step):
        verdicts[checker.check(description).verdict] += 1
    seconds = time.process_time() - start
    figures = {"stacks": float(verdicts.total()), "stacks_per_second": verdicts.total() / seconds}
    figures |= {verdict: float(count) for verdict, count in sorted(verdicts.items())}
    required = {"stacks_per_second": _REQUIRED["stacks_per_second"]} if options.quick else _REQUIRED
    return finish("check_rate", figures, required, as_json=options.json, rows=[["verdict", "stacks"], *_rows(verdicts)])


def _rows(verdicts: Counter[str]) -> list[list[str]]:
    return [[verdict, str(count)] for verdict, count in verdicts.most_common()]


def _stacks(step: int) -> Iterator[Description]:
    builds = [f"{row['torch']}+cu{row['cuda'].replace('.', '')}" for row in load_table("torch").rows]
    drivers = [f"{row['branch']}.10" for row in load_table("drivers").rows]
    product = itertools.product(builds[::step], drivers, _GPUS, _PYTHONS)
    for build, driver, gpu, python in product:
        yield describe({"driver": driver, "gpu": gpu, "python": python, "os": "Ubuntu 22.04"}, {"torch": build})


if __name__ == "__main__":
    sys.exit(main())

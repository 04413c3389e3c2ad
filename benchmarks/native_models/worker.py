"""One process of the benchmark: makes one contender, and times its steps on command.

Usage: `python worker.py CONTENDER FRAMEWORK MODE FOLDER CORE`. The first answer on standard output holds the first
step's loss, its CPU seconds with those of child processes, and its wall seconds; each line with a count is answered
with the CPU seconds per step of as many steps.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from contender import Work

from stackproof.backends.data import batch
from stackproof.backends.program import load
from stackproof.backends.reading import spec_from_dict

if TYPE_CHECKING:
    from contender import Contender

KINDS = {"ours": "ours", "native": "{}_models", "keras": "keras_models"}


def main(arguments: list[str]) -> int:
    """Make the contender and answer until standard input ends."""
    kind, framework, mode, folder, core = arguments
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.sched_setaffinity(0, {int(core)})
    module = importlib.import_module(KINDS[kind].format(framework))
    work = read_work(Path(folder), mode)
    importlib.import_module(framework)
    start, wall = processor_seconds(), time.perf_counter()
    contender: Contender = module.Ours(framework, work) if kind == "ours" else module.Native(work)
    loss = contender.first()
    first = {"loss": loss, "cpu": processor_seconds() - start, "wall": time.perf_counter() - wall}
    print(json.dumps(first), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(contender.run(int(line))), file=answers, flush=True)
    return 0


def read_work(folder: Path, mode: str) -> Work:
    """Read the spec and the program, and make the batches."""
    spec = spec_from_dict(json.loads((folder / "spec.json").read_text(encoding="utf-8")))
    program = load((folder / "program.npz").read_bytes())
    return Work(spec, program, [batch(spec, step) for step in range(4)], mode)


def processor_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))

"""Evaluates prepared cases on one framework, in an environment that has numpy and that framework only.

    python suite_worker.py TARGET FOLDER [--compile] [--gradients]

The checkout and its tests/support are on PYTHONPATH. Reads the names of cases from standard input, one a line; each is
FOLDER/NAME.case, a pickled `SuiteCase`. Prints one JSON line per case: its name, and why it fails or an empty string. A
case that takes longer than `LIMIT_S` ends the process. With --gradients a case is a `GradientCase`; what is measured
goes to FOLDER/NAME.TARGET as a pickled `Measured`.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gradient_outcome import measure
from suite_outcome import outcome

if TYPE_CHECKING:
    from types import ModuleType

    from gradient_outcome import GradientCase

LIMIT_S = 180


def main() -> None:
    """Evaluate the cases that are named."""
    target, folder, *words = sys.argv[1:]
    answers = take_stdout()
    importlib.import_module(f"stackproof.backends.on_{target}.session").prepare(threads=1, device="cpu")
    module = importlib.import_module(f"stackproof.backends.on_{target}.evaluate")
    print(json.dumps({"ready": target}), file=answers, flush=True)
    for name in sys.stdin.read().split():
        case = pickle.loads((Path(folder) / f"{name}.case").read_bytes())  # noqa: S301 - of the process that asks
        faulthandler.dump_traceback_later(LIMIT_S, exit=True)
        if "--gradients" in words:
            why = keep_gradients(module, case, Path(folder) / f"{name}.{target}")
        else:
            why = outcome(module, case, compile="--compile" in words)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"name": name, "why": why}), file=answers, flush=True)


def keep_gradients(module: ModuleType, case: GradientCase, path: Path) -> str:
    """Write a case's gradients, and return why there are none, or an empty string."""
    try:
        path.write_bytes(pickle.dumps(measure(module, case)))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return ""


def take_stdout() -> object:
    """Return the standard output for answers alone; what frameworks print goes to standard error from now on."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


if __name__ == "__main__":
    main()

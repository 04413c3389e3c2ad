"""The table of operators that the control side reads, and how it is written anew.

    python tests/support/operator_table.py torch

in PyTorch's environment, and the same for the other frameworks, puts what is registered there into the table.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from stackproof.backends import registry

TABLE = Path(__file__).parents[2] / "matrix" / "importing" / "operators.json"


def registered(target: str) -> set[str]:
    importlib.import_module(f"stackproof.backends.on_{target}.rules")
    return set(registry.operators(target))


def listed(target: str) -> set[str]:
    return {op for op, targets in json.loads(TABLE.read_text("utf-8")).items() if target in targets}


def write(target: str) -> None:
    table = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {}
    known = {op: set(targets) - {target} for op, targets in table.items()}
    for op in registered(target):
        known.setdefault(op, set()).add(target)
    lines = [f"{json.dumps(op)}: {json.dumps(sorted(known[op]))}" for op in sorted(known) if known[op]]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])

from __future__ import annotations

import os
from pathlib import Path

from session_contract import SessionContract

from stackproof.backends.on_tensorflow import session


def _compiled() -> int:
    return len(list(Path(os.environ["XLA_DUMPS"]).glob("*before_optimizations.txt")))


class TestSession(SessionContract):
    module = session
    executions = ("eager", "graph", "graph-last", "compiled")
    compilations = _compiled
    distributions = {"tensorflow": "tensorflow-cpu"}

from __future__ import annotations

from seeded_contract import SeededContract

from stackproof.backends.on_tensorflow import evaluate, session


class TestSeededDropout(SeededContract):
    module, sessions = evaluate, session
    executions = ("graph", "graph-last", "compiled")

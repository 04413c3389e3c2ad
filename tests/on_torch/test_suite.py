from __future__ import annotations

from suite_contract import SuiteContract

from stackproof.backends.on_torch import evaluate, gates


class TestSuite(SuiteContract):
    target = "torch"
    module = evaluate

    def missing_compiler(self) -> str:
        return gates.missing_compiler("cpu")

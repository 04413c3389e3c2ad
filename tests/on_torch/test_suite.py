from __future__ import annotations

from suite_contract import SuiteContract

from stackproof.backends.on_torch import evaluate


class TestSuite(SuiteContract):
    target = "torch"
    module = evaluate

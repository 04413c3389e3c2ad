from __future__ import annotations

from suite_contract import SuiteContract

from stackproof.backends.on_tensorflow import evaluate


class TestSuite(SuiteContract):
    target = "tensorflow"
    module = evaluate

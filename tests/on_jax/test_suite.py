from __future__ import annotations

from suite_contract import SuiteContract

from stackproof.backends.on_jax import evaluate


class TestSuite(SuiteContract):
    target = "jax"
    module = evaluate
    compiled = True

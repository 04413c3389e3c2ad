from __future__ import annotations

import pytest
from suite_contract import SuiteContract

from stackproof.backends.on_jax import evaluate


@pytest.mark.usefixtures("quick_compiler")
class TestSuite(SuiteContract):
    target = "jax"
    module = evaluate
    compiled = True

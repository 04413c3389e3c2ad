from __future__ import annotations

from number_contract import NumberContract

from stackproof.backends.on_jax import evaluate


class TestNumbers(NumberContract):
    module = evaluate
    compiled_step = 7

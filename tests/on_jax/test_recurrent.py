from __future__ import annotations

from recurrent_contract import RecurrentContract

from stackproof.backends.on_jax.evaluate import Evaluation


class TestRecurrent(RecurrentContract):
    evaluation = Evaluation

from __future__ import annotations

from moving_contract import MovingContract

from stackproof.backends.on_tensorflow import evaluate


class TestMoving(MovingContract):
    module = evaluate

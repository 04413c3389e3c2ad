from __future__ import annotations

from gradient_contract import GradientContract

from stackproof.backends.on_torch import evaluate


class TestGradients(GradientContract):
    target = "torch"
    module = evaluate

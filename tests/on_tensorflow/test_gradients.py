from __future__ import annotations

from gradient_contract import ChannelsLastContract, GradientContract

from stackproof.backends.on_tensorflow import evaluate


class TestGradients(GradientContract):
    target = "tensorflow"
    module = evaluate


class TestChannelsLast(ChannelsLastContract):
    target = "tensorflow"
    module = evaluate

from __future__ import annotations

from gradient_contract import ChannelsLastContract, GradientContract

from stackproof.backends.on_jax import evaluate


class TestGradients(GradientContract):
    target = "jax"
    module = evaluate


class TestChannelsLast(ChannelsLastContract):
    target = "jax"
    module = evaluate

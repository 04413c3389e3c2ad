from __future__ import annotations

import pytest
from gradient_contract import ChannelsLastContract, GradientContract

from stackproof.backends.on_jax import evaluate


@pytest.mark.usefixtures("quick_compiler")
class TestGradients(GradientContract):
    target = "jax"
    module = evaluate


class TestChannelsLast(ChannelsLastContract):
    target = "jax"
    module = evaluate

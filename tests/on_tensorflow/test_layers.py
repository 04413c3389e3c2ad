from __future__ import annotations

from layer_contract import LayerContract

from stackproof.backends.on_tensorflow import evaluate


class TestLayers(LayerContract):
    module = evaluate
    compiled_step = 8

from __future__ import annotations

from model_contract import ModelContract

from stackproof.backends.on_tensorflow import session


class TestModels(ModelContract):
    module = session

from __future__ import annotations

import pytest
from model_contract import ModelContract

from stackproof.backends.on_jax import session


@pytest.mark.usefixtures("quick_compiler")
class TestModels(ModelContract):
    module = session
    # Operator by operator JAX compiles each of them.
    compiled = True

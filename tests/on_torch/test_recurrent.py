from __future__ import annotations

import pytest
import torch
from recurrent_contract import RecurrentContract

from stackproof.backends.on_torch.evaluate import Evaluation


@pytest.fixture(autouse=True)
def _fresh_compiler() -> None:
    """Forget what other tests compiled: PyTorch gives up after a number of graphs for one function."""
    torch.compiler.reset()


class TestRecurrent(RecurrentContract):
    evaluation = Evaluation

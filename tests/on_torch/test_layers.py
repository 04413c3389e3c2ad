from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from layer_contract import LayerContract

from stackproof.backends.on_torch import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator


class TestLayers(LayerContract):
    module = evaluate
    compiled_step = 25

    @pytest.fixture(autouse=True)
    def _nothing_compiled_stays(self) -> Iterator[None]:
        yield
        self.forget()

    def forget(self) -> None:
        torch.compiler.reset()

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from number_contract import NumberContract

from stackproof.backends.on_torch import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator


class TestNumbers(NumberContract):
    module = evaluate
    compiled_step = 20

    @pytest.fixture(autouse=True)
    def _nothing_compiled_stays(self) -> Iterator[None]:
        yield
        torch.compiler.reset()

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pytest
import torch
from control_contract import ControlContract

from stackproof.backends.lower import Lowered
from stackproof.backends.on_torch.evaluate import Evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from stackproof.backends.program import Program


@pytest.fixture(autouse=True)
def _fresh_compiler() -> None:
    """Forget what other tests compiled: PyTorch gives up after a number of graphs for one function."""
    torch.compiler.reset()


class TestControl(ControlContract):
    evaluation = Evaluation
    no_gradient: ClassVar[str] = "Loop on torch has no gradient"

    def compiled_gradient(self, program: Program, inputs: Mapping[str, np.ndarray], name: str) -> np.ndarray:
        lowered = Lowered(program, "torch", "stated")
        tensors = {key: torch.tensor(value) for key, value in {**program.constants, **inputs}.items()}
        leaf = tensors[name].requires_grad_()
        torch.compile(lambda given: lowered(given, {})["y"].sum(), fullgraph=True)(tensors).backward()
        assert leaf.grad is not None
        found: np.ndarray = leaf.grad.numpy()
        return found

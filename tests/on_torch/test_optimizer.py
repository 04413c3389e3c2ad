from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from optimizer_contract import OPTIMIZERS, SHAPES, OptimizerContract, initial, pulls, schedule_rates
from required import need

from stackproof.backends.on_torch import gates
from stackproof.backends.on_torch.optimizer import clipped, global_norm, new_state, update

if TYPE_CHECKING:
    from stackproof.backends.spec import Optimizer


def _torch_optim(optimizer: Optimizer, parameters: list[torch.Tensor]) -> Any:
    if optimizer.kind == "adamw":
        return torch.optim.AdamW(
            parameters, optimizer.lr, optimizer.betas, optimizer.eps, weight_decay=optimizer.weight_decay
        )
    return torch.optim.SGD(
        parameters,
        optimizer.lr,
        momentum=optimizer.momentum,
        weight_decay=optimizer.weight_decay,
        nesterov=optimizer.nesterov,
    )


def _by_columns(value: np.ndarray) -> torch.Tensor:
    """Return a tensor with its last axis first in memory."""
    tensor = torch.tensor(value)
    return tensor.movedim(-1, 0).contiguous().movedim(0, -1) if tensor.dim() > 1 else tensor


@pytest.mark.parametrize("by_columns", [False, True], ids=["by_rows", "by_columns"])
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "written_out"])
class TestOptimizer(OptimizerContract):
    @pytest.fixture(autouse=True)
    def _choose(self, monkeypatch: pytest.MonkeyPatch, *, fused: bool, by_columns: bool) -> None:
        need("fused updates", "" if gates.has_fused_updates("cpu") else "this PyTorch has none")
        monkeypatch.setattr(gates, "has_fused_updates", lambda _device: fused)
        self.placed = _by_columns if by_columns else torch.tensor

    def train(self, optimizer: Optimizer, clip_norm: float, rates: np.ndarray) -> dict[str, np.ndarray]:
        parameters = [self.placed(value) for value in initial().values()]
        state = new_state(optimizer, parameters)
        for pull, rate in zip(pulls(), rates, strict=True):
            gradients = [torch.tensor(pull[name]) + 0.1 * p for name, p in zip(SHAPES, parameters, strict=True)]
            gradients = clipped(gradients, global_norm(gradients), clip_norm)
            update(optimizer, parameters, gradients, state, rate)
        return {name: p.numpy() for name, p in zip(SHAPES, parameters, strict=True)}

    def clip(self, gradients: dict[str, np.ndarray], largest: float) -> tuple[float, dict[str, np.ndarray]]:
        tensors = [torch.tensor(value) for value in gradients.values()]
        norm = global_norm(tensors)
        made = clipped(tensors, norm, largest)
        return float(norm), {name: value.numpy() for name, value in zip(gradients, made, strict=True)}

    @pytest.mark.parametrize("kind", list(OPTIMIZERS))
    def test_agrees_with_torch_optim(self, kind: str) -> None:
        optimizer = OPTIMIZERS[kind]
        parameters = [torch.tensor(value, requires_grad=True) for value in initial().values()]
        theirs = _torch_optim(optimizer, parameters)
        for pull, (rate, *_) in zip(pulls(), schedule_rates(optimizer), strict=True):
            for name, parameter in zip(SHAPES, parameters, strict=True):
                parameter.grad = torch.tensor(pull[name]) + 0.1 * parameter.detach()
            theirs.param_groups[0]["lr"] = float(rate)
            theirs.step()
        ours = self.train(optimizer, 0.0, schedule_rates(optimizer))
        for name, parameter in zip(SHAPES, parameters, strict=True):
            np.testing.assert_allclose(ours[name], parameter.detach().numpy(), rtol=0, atol=1e-13)

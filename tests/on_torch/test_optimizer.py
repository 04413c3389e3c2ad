from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from optimizer_contract import (
    OPTIMIZERS,
    LayoutContract,
    OptimizerContract,
    StillContract,
    initial,
    papers,
    pulls,
    schedule_rates,
)
from required import need

from stackproof.backends.on_torch import gates, session
from stackproof.backends.on_torch.optimizer import clipped, global_norm, new_state, update
from stackproof.backends.spec import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable


def _muon(parameters: list[torch.Tensor], optimizer: Optimizer) -> torch.optim.Optimizer:
    return torch.optim.Muon(
        parameters,
        optimizer.lr,
        weight_decay=optimizer.weight_decay,
        momentum=optimizer.momentum,
        nesterov=optimizer.nesterov,
        adjust_lr_fn="match_rms_adamw",
    )


_CLASSES: dict[str, Callable[[list[torch.Tensor], Optimizer], torch.optim.Optimizer]] = {
    "adafactor": lambda tensors, o: torch.optim.Adafactor(
        tensors, o.lr, -o.decay_rate, (o.eps, o.eps2), o.clip_threshold, o.weight_decay
    ),
    "adagrad": lambda tensors, o: torch.optim.Adagrad(tensors, o.lr, weight_decay=o.weight_decay, eps=o.eps),
    "adam": lambda tensors, o: torch.optim.Adam(tensors, o.lr, o.betas, o.eps, o.weight_decay),  # type: ignore[arg-type] # two betas
    "adamw": lambda tensors, o: torch.optim.AdamW(tensors, o.lr, o.betas, o.eps, o.weight_decay),  # type: ignore[arg-type] # two betas
    "muon": _muon,
    "rmsprop": lambda tensors, o: torch.optim.RMSprop(tensors, o.lr, o.alpha, o.eps, o.weight_decay, o.momentum),
    "sgd": lambda tensors, o: torch.optim.SGD(
        tensors, o.lr, momentum=o.momentum, weight_decay=o.weight_decay, nesterov=o.nesterov
    ),
}


# PyTorch refuses a threshold below 1, and has a class that all parameters share.
_LIKE_TORCH = [
    kind
    for kind, o in OPTIMIZERS.items()
    if o.kind in _CLASSES and o.clip_threshold >= 1 and not o.groups and o.adamw == Optimizer.adamw
]


def _torch_optim(optimizer: Optimizer, parameters: dict[str, torch.Tensor]) -> list[torch.optim.Optimizer]:
    if optimizer.kind != "muon":
        return [_CLASSES[optimizer.kind](list(parameters.values()), optimizer)]
    matrices = [parameters[name] for name in ("matrix", "wide.weight")]
    others = [p for name, p in parameters.items() if name not in ("matrix", "wide.weight")]
    return [_CLASSES["muon"](matrices, optimizer), _CLASSES["adamw"](others, replace(optimizer, kind="adamw"))]


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
        parameters = {name: self.placed(value) for name, value in initial().items()}
        state = new_state(optimizer, parameters)
        for pull, rate in zip(pulls(), rates, strict=True):
            gradients = [torch.tensor(pull[name]) + 0.1 * p for name, p in parameters.items()]
            gradients = clipped(gradients, global_norm(gradients), clip_norm)
            update(optimizer, parameters, dict(zip(parameters, gradients, strict=True)), state, rate)
        return {name: p.numpy() for name, p in parameters.items()}

    def clip(self, gradients: dict[str, np.ndarray], largest: float) -> tuple[float, dict[str, np.ndarray]]:
        tensors = [torch.tensor(value) for value in gradients.values()]
        norm = global_norm(tensors)
        made = clipped(tensors, norm, largest)
        return float(norm), {name: value.numpy() for name, value in zip(gradients, made, strict=True)}

    def state(self, optimizer: Optimizer) -> dict[str, np.ndarray]:
        parameters = {name: self.placed(value) for name, value in initial().items()}
        return {key: value.numpy() for key, value in new_state(optimizer, parameters).items()}

    def test_a_run_that_begins_with_a_later_update_goes_on_right(self) -> None:
        """The kernels' count is the update's number, whatever came before it in this process."""
        optimizer = OPTIMIZERS["adamw"]
        parameters = {name: self.placed(value) for name, value in initial().items()}
        state = new_state(optimizer, parameters)
        for half in (slice(0, 20), slice(20, None)):
            # As if restored: other tensors with the same values.
            parameters = {name: p.clone() for name, p in parameters.items()}
            state = {name: p.clone() for name, p in state.items()}
            for pull, rate in zip(pulls()[half], schedule_rates(optimizer)[half], strict=True):
                gradients = {name: torch.tensor(pull[name]) + 0.1 * p for name, p in parameters.items()}
                update(optimizer, parameters, gradients, state, rate)
        for name, wanted in papers(optimizer, 0.0).items():
            np.testing.assert_allclose(parameters[name].numpy(), wanted, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("kind", _LIKE_TORCH)
    def test_agrees_with_torch_optim(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        optimizer = OPTIMIZERS[kind]
        # Muon's iteration is in bfloat16 there, and in the run's own precision here.
        monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
        parameters = {name: torch.tensor(value, requires_grad=True) for name, value in initial().items()}
        theirs = _torch_optim(optimizer, parameters)
        for pull, (rate, *_) in zip(pulls(), schedule_rates(optimizer), strict=True):
            for name, parameter in parameters.items():
                parameter.grad = torch.tensor(pull[name]) + 0.1 * parameter.detach()
            for one in theirs:
                one.param_groups[0]["lr"] = float(rate)
                one.step()
        ours = self.train(optimizer, 0.0, schedule_rates(optimizer))
        for name, parameter in parameters.items():
            np.testing.assert_allclose(ours[name], parameter.detach().numpy(), rtol=0, atol=1e-12)


class TestStill(StillContract):
    def once(self, optimizer: Optimizer, parameter: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        parameters, gradients = {"weight": torch.tensor(parameter)}, {"weight": torch.tensor(gradient)}
        rates = np.array([0.5, 0.1, 0.001 if optimizer.kind != "adafactor" else 1.0, 1.0])
        update(optimizer, parameters, gradients, new_state(optimizer, parameters), rates)
        return np.asarray(parameters["weight"].numpy())


class TestLayout(LayoutContract):
    module = session
    executions = ("eager", "eager-last")

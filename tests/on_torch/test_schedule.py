"""Learning rates against the schedulers of `torch.optim` that have the same formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from stackproof.backends.schedule import rates
from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train

STEPS, LR = 24, 0.3
SCHEDULERS: dict[str, tuple[Schedule, Any]] = {
    "one-cycle": (
        Schedule("one-cycle", warmup=5, start=0.1, final=0.02),
        lambda o: torch.optim.lr_scheduler.OneCycleLR(
            o, LR, STEPS, pct_start=6 / STEPS, div_factor=10, final_div_factor=5, cycle_momentum=False
        ),
    ),
    "polynomial": (
        Schedule("polynomial", power=1.7),
        lambda o: torch.optim.lr_scheduler.PolynomialLR(o, STEPS - 1, 1.7),
    ),
    "cosine": (
        Schedule("cosine", final=0.25),
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, STEPS - 1, eta_min=0.25 * LR),
    ),
    "linear": (
        Schedule("linear", final=0.25),
        lambda o: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.25, STEPS - 1),
    ),
}


@pytest.mark.parametrize("kind", list(SCHEDULERS))
def test_rates_are_those_of_torch(kind: str) -> None:
    schedule, make = SCHEDULERS[kind]
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], LR)
    scheduler, found = make(optimizer), []
    for _ in range(STEPS):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    ours = rates(Spec("s", Mlp(), Data(), Optimizer(lr=LR), schedule, Train(steps=STEPS)))[:, 0]
    np.testing.assert_allclose(ours, found, rtol=1e-12, atol=1e-15)

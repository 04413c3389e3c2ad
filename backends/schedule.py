"""Learning rates and bias corrections per step, computed once in float64 for every framework."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .spec import Schedule, Spec


def rates(spec: Spec) -> np.ndarray:
    """Return what each step's update needs.

    Args:
        spec: The run.

    Returns:
        float64 of shape (steps, 3): learning rate, `1 - beta1**t` and `1 - beta2**t`, with `t` counting from 1.
    """
    first, second = spec.optimizer.betas
    rows = [
        (
            spec.optimizer.lr * share(spec.schedule, step, spec.train.steps),
            1.0 - first ** (step + 1),
            1.0 - second ** (step + 1),
        )
        for step in range(spec.train.steps)
    ]
    return np.array(rows, dtype=np.float64)


def share(schedule: Schedule, step: int, steps: int) -> float:
    """Return the rate of a step as a share of the peak.

    During warm-up the share is `(step + 1) / (warmup + 1)`. Afterwards, with `x` running from 0 at the first step after
    warm-up to 1 at the last step: 1 for `constant`; `1 - (1 - final) * x` for `linear`;
    `final + (1 - final) * (1 + cos(pi * x)) / 2` for `cosine` (Loshchilov and Hutter, SGDR, 2017, equation 5).

    Args:
        schedule: Which schedule.
        step: Counting from 0.
        steps: Steps of the whole run.
    """
    if step < schedule.warmup:
        return (step + 1) / (schedule.warmup + 1)
    if schedule.kind == "constant":
        return 1.0
    span = max(1, steps - 1 - schedule.warmup)
    along = min(1.0, (step - schedule.warmup) / span)
    if schedule.kind == "linear":
        return 1.0 - (1.0 - schedule.final) * along
    return schedule.final + (1.0 - schedule.final) * (1.0 + math.cos(math.pi * along)) / 2.0

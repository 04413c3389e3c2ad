"""Learning rates, and what else of an update depends on its number, computed once in float64 for every framework."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .spec import Optimizer, Schedule, Spec

# Numbers that a step's update needs.
COLUMNS = 4


def rates(spec: Spec) -> np.ndarray:
    """Return what each step's update needs.

    Args:
        spec: The run.

    Returns:
        float64 of shape (steps, 4): learning rate, two numbers of the optimizer, and `t`, which counts from 1. The two
        are `t ** -decay_rate` and `1 / sqrt(t)` for Adafactor, `1 - beta1**t` and `1 - beta2**t` for all others.
    """
    optimizer, steps = spec.optimizer, spec.train.steps
    rows = [
        (optimizer.lr * share(spec.schedule, step, steps), *_of_count(optimizer, step + 1), step + 1)
        for step in range(steps)
    ]
    return np.array(rows, dtype=np.float64)


def _of_count(optimizer: Optimizer, count: int) -> tuple[float, float]:
    if optimizer.kind == "adafactor":
        return float(count**-optimizer.decay_rate), 1.0 / math.sqrt(count)
    first, second = optimizer.betas
    return 1.0 - first**count, 1.0 - second**count


def share(schedule: Schedule, step: int, steps: int) -> float:
    """Return the rate of a step as a share of the peak, by the formulas of `docs/training.md`.

    Args:
        schedule: Which schedule.
        step: Counting from 0.
        steps: Steps of the whole run.
    """
    if step < schedule.warmup:
        return _rising(schedule, step)
    if schedule.kind == "inverse-square-root":
        return math.sqrt((schedule.warmup + 1) / (step + 1))
    if schedule.kind == "warmup-stable-decay":
        return _cooling(schedule, step, steps)
    span = max(1, steps - 1 - schedule.warmup)
    return schedule.final + (1.0 - schedule.final) * _left(schedule, min(1.0, (step - schedule.warmup) / span))


def _rising(schedule: Schedule, step: int) -> float:
    if schedule.kind == "one-cycle":
        along = (1.0 - math.cos(math.pi * step / schedule.warmup)) / 2.0
        return schedule.start + (1.0 - schedule.start) * along
    return (step + 1) / (schedule.warmup + 1)


def _cooling(schedule: Schedule, step: int, steps: int) -> float:
    below = step - (steps - 1 - schedule.cooldown)
    return 1.0 - (1.0 - schedule.final) * below / schedule.cooldown if below > 0 else 1.0


def _left(schedule: Schedule, along: float) -> float:
    """Return what is left of the way from the peak to the final rate: 1 at the first step after warm-up."""
    if schedule.kind == "constant":
        return 1.0
    if schedule.kind == "linear":
        return 1.0 - along
    if schedule.kind == "polynomial":
        return float((1.0 - along) ** schedule.power)
    return (1.0 + math.cos(math.pi * along)) / 2.0

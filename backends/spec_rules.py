"""Rules between the keys of a spec: what each value allows of the others."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from .loss_rules import check_loss
from .model_rules import DATA_OF_MODEL, check_model, sound
from .model_sizes import elements, largest_tensor, sample_elements

if TYPE_CHECKING:
    from .spec import Schedule, Spec
    from .tables import Faults

# Of one tensor, and of a batch: indices beyond that overflow.
MOST_ELEMENTS = 2**31
# Of a model.
MOST_PARAMETERS = 2**37


def check_fit(spec: Spec, faults: Faults) -> None:
    """Report where keys of a spec do not fit each other; keys that are faulty themselves are left out.

    Args:
        spec: The spec as read.
        faults: The faults found so far; further ones are added to it.
    """
    check_model(spec.model, faults)
    _check_data(spec, faults)
    check_loss(spec, faults)
    _check_size(spec, faults)
    _check_loop(spec, faults)


def _check_data(spec: Spec, faults: Faults) -> None:
    fitting = DATA_OF_MODEL[spec.model.kind]
    if sound(faults, "data.kind") and spec.data.kind != fitting:
        what = f'"{spec.data.kind}" does not fit a model of kind "{spec.model.kind}"'
        faults.add(("data", "kind"), f'{what}: write "{fitting}", or leave it out')


def _check_size(spec: Spec, faults: Faults) -> None:
    if not sound(faults, *(f"model.{field.name}" for field in fields(spec.model))):
        return
    count, largest = elements(spec.model), largest_tensor(spec.model)
    if count > MOST_PARAMETERS:
        what = f"has {count:.3e} elements, more than the {MOST_PARAMETERS} that a spec may have: make its sizes smaller"
        faults.add(("model",), what)
    elif largest > MOST_ELEMENTS:
        what = f"has a tensor of {largest:.3e} elements, more than the {MOST_ELEMENTS} that one may have"
        faults.add(("model",), f"{what}: make its sizes smaller")
    batch = spec.train.accumulate * spec.data.batch * sample_elements(spec.model)
    if batch > MOST_ELEMENTS and sound(faults, "data.batch", "train.accumulate"):
        what = f"makes a batch of {batch:.3e} elements, more than the {MOST_ELEMENTS} that it may have: make it smaller"
        faults.add(("data", "batch"), what)


def _check_loop(spec: Spec, faults: Faults) -> None:
    warmup, steps = spec.schedule.warmup, spec.train.steps
    if sound(faults, "schedule.warmup", "train.steps") and warmup >= steps:
        what = f"{warmup} warm-up steps leave none of the {steps} steps at the full rate: write at most {steps - 1}"
        faults.add(("schedule", "warmup"), f"{what}, or raise train.steps")
    elif sound(faults, "schedule", "train.steps"):
        _check_phases(spec.schedule, steps, faults)
    optimizer = spec.optimizer
    if optimizer.nesterov and not optimizer.momentum and sound(faults, "optimizer.momentum", "optimizer.nesterov"):
        faults.add(("optimizer", "nesterov"), "needs momentum: add momentum = 0.9, or write nesterov = false")


def _check_phases(schedule: Schedule, steps: int, faults: Faults) -> None:
    warmup, cooldown, some = schedule.warmup, schedule.cooldown, max(1, 3 * steps // 10)
    if schedule.kind == "one-cycle" and not warmup:
        what = f'a "one-cycle" rises from start during the warm-up: write a number of steps, such as {some}'
        faults.add(("schedule", "warmup"), what)
    if schedule.kind == "warmup-stable-decay" and not cooldown:
        what = f'a "warmup-stable-decay" falls over the last steps: write their number, such as {some}'
        faults.add(("schedule", "cooldown"), what)
    elif warmup + cooldown >= steps:
        what = f"{warmup} steps of warm-up and {cooldown} of decay leave none of the {steps} steps at the full rate"
        faults.add(("schedule", "cooldown"), f"{what}: write at most {steps - 1 - warmup}, or raise train.steps")

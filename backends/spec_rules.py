"""Rules between the keys of a spec: what each value allows of the others."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

from .spec import Cnn, Gpt, Mlp, Onnx, Resnet

if TYPE_CHECKING:
    from .spec import Model, Spec
    from .tables import Faults

DATA_OF_MODEL = {"gpt": "tokens", "mlp": "vectors", "cnn": "images", "resnet": "images", "onnx": "prototypes"}
MOST_ELEMENTS = 2**31


def check_fit(spec: Spec, faults: Faults) -> None:
    """Report where keys of a spec do not fit each other; keys that are faulty themselves are left out.

    Args:
        spec: The spec as read.
        faults: The faults found so far; further ones are added to it.
    """
    _check_model(spec.model, faults)
    _check_data(spec, faults)
    _check_loss(spec, faults)
    _check_size(spec, faults)
    _check_loop(spec, faults)


def elements(model: Model) -> int:
    """Return the number of elements of a model's parameters; 0 for a model from a file, which has its own."""
    if isinstance(model, Onnx):
        return 0
    if isinstance(model, Gpt):
        return _gpt_elements(model)
    if isinstance(model, Mlp):
        sizes = (model.inputs, *model.hidden, model.outputs)
        return sum((wide + 1) * size for wide, size in zip(sizes, sizes[1:]))
    if isinstance(model, Resnet):
        return _resnet_elements(model)
    depths = (model.image[0], *model.channels)
    convolutions = sum((9 * depth + 1) * channels for depth, channels in zip(depths, depths[1:]))
    return convolutions + (depths[-1] + 1) * model.outputs


def _gpt_elements(model: Gpt) -> int:
    width, hidden = model.width, model.hidden or 4 * model.width
    up = 2 if model.activation == "swiglu" else 1
    weights = 4 * width * width + (up + 1) * width * hidden
    biases = (5 * width + up * hidden) if model.bias else 0
    norm = 2 * width if model.norm == "layernorm" else width
    tables = model.vocabulary * (1 if model.tied else 2) + (model.context if model.position == "learned" else 0)
    return model.layers * (weights + biases + 2 * norm) + norm + tables * width


def _resnet_elements(model: Resnet) -> int:
    depth = model.channels[0]
    total = (9 * model.image[0] + 2) * depth
    for stage, (count, channels) in enumerate(zip(model.blocks, model.channels)):
        projected = stage > 0 or depth != channels
        total += (9 * (depth + channels * (2 * count - 1)) + 4 * count) * channels
        total += (depth + 2) * channels if projected else 0
        depth = channels
    return total + (depth + 1) * model.outputs


def _check_model(model: Model, faults: Faults) -> None:
    if isinstance(model, Gpt) and _sound(faults, "model.width", "model.heads", "model.position"):
        _check_heads(model, faults)
    if isinstance(model, Cnn) and _sound(faults, "model.image", "model.channels"):
        _check_image(model, faults)
    if isinstance(model, Resnet) and _sound(faults, "model.channels", "model.blocks"):
        _check_stages(model, faults)


def _check_heads(model: Gpt, faults: Faults) -> None:
    width, heads = model.width, model.heads
    if width % heads:
        unit = heads * (2 if model.position == "rope" else 1)
        what = f"{width} is no multiple of heads = {heads}: write {_multiples(width, unit)}, or change heads"
        faults.add(("model", "width"), what)
    elif model.position == "rope" and width // heads % 2:
        near = _multiples(width, 2 * heads)
        what = f"the head size {width} / {heads} = {width // heads} is odd, and rotary positions turn pairs of elements"
        faults.add(("model", "width"), f'{what}: write {near}, or position = "learned"')


def _multiples(value: int, unit: int) -> str:
    below = value // unit * unit
    return f"{below} or {below + unit}" if below else str(unit)


def _check_image(model: Cnn, faults: Faults) -> None:
    unit = 2 ** len(model.channels)
    for index, side in ((1, "height"), (2, "width")):
        size = model.image[index]
        if size % unit:
            halved = f"is halved once for each of the {len(model.channels)} channels entries"
            what = f"the {side} {size} {halved}: write a multiple of {unit}, such as {_multiples(size, unit)}"
            faults.add(("model", "image", index), what)


def _check_stages(model: Resnet, faults: Faults) -> None:
    stages, given = len(model.channels), len(model.blocks)
    if given != stages:
        what = f"has {given} entries and channels has {stages}: write one entry for each stage in both"
        faults.add(("model", "blocks"), what)


def _check_data(spec: Spec, faults: Faults) -> None:
    fitting = DATA_OF_MODEL[spec.model.kind]
    if _sound(faults, "data.kind") and spec.data.kind != fitting:
        what = f'"{spec.data.kind}" does not fit a model of kind "{spec.model.kind}"'
        faults.add(("data", "kind"), f'{what}: write "{fitting}", or leave it out')


def _check_loss(spec: Spec, faults: Faults) -> None:
    loss, model = spec.train.loss, spec.model
    if not _sound(faults, "train.loss"):
        return
    if isinstance(model, Onnx):
        return
    if loss == "own":
        what = '"own" is the loss that a model from an ONNX file has as its output'
        faults.add(("train", "loss"), f'{what}: write "cross-entropy"')
    elif isinstance(model, Gpt):
        if loss != "cross-entropy":
            what = f'"{loss}" needs a model of kind "mlp", "cnn" or "resnet": a gpt predicts tokens'
            faults.add(("train", "loss"), f'{what}, write "cross-entropy"')
    elif loss == "cross-entropy" and model.outputs < 2 and _sound(faults, "model.outputs"):  # noqa: PLR2004 - two classes
        what = 'cross-entropy needs at least 2 classes: write 2 or more, or set train.loss = "mean-squared-error"'
        faults.add(("model", "outputs"), what)


def _check_size(spec: Spec, faults: Faults) -> None:
    if not _sound(faults, *(f"model.{field.name}" for field in fields(spec.model))):
        return
    count = elements(spec.model)
    if count > MOST_ELEMENTS:
        what = f"has {count:.3e} elements, more than the {MOST_ELEMENTS} that a spec may have: make its sizes smaller"
        faults.add(("model",), what)
    batch = spec.data.batch * _sample_elements(spec.model)
    if batch > MOST_ELEMENTS and _sound(faults, "data.batch"):
        what = f"makes a batch of {batch:.3e} elements, more than the {MOST_ELEMENTS} that it may have: make it smaller"
        faults.add(("data", "batch"), what)


def _sample_elements(model: Model) -> int:
    """Return the elements of the larger of a sample and its output; 0 where only the file says it."""
    if isinstance(model, Onnx):
        return 0
    if isinstance(model, Gpt):
        return model.context * max(model.vocabulary, model.width)
    if isinstance(model, Mlp):
        return max(model.inputs, *model.hidden, model.outputs)
    if isinstance(model, Resnet):
        return max(math.prod(model.image), _largest_stage(model), model.outputs)
    return max(math.prod(model.image), model.image[1] * model.image[2] * model.channels[0], model.outputs)


def _largest_stage(model: Resnet) -> int:
    _, height, width = model.image
    return max(
        channels * -(-height // (1 << stage)) * -(-width // (1 << stage))
        for stage, channels in enumerate(model.channels)
    )


def _check_loop(spec: Spec, faults: Faults) -> None:
    warmup, steps = spec.schedule.warmup, spec.train.steps
    if _sound(faults, "schedule.warmup", "train.steps") and warmup >= steps:
        what = f"{warmup} warm-up steps leave none of the {steps} steps at the full rate: write at most {steps - 1}"
        faults.add(("schedule", "warmup"), f"{what}, or raise train.steps")
    optimizer = spec.optimizer
    if optimizer.nesterov and not optimizer.momentum and _sound(faults, "optimizer.momentum", "optimizer.nesterov"):
        faults.add(("optimizer", "nesterov"), "needs momentum: add momentum = 0.9, or remove nesterov")


def _sound(faults: Faults, *keys: str) -> bool:
    return not any(faults.touch(tuple(key.split("."))) for key in keys)

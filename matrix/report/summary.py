"""A spec in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...backends.spec import Bert, Cnn, Gpt, Llama, Moe, Onnx, Resnet, Unet, Vit
from .wording import clean

if TYPE_CHECKING:
    from ...backends.spec import Model, Spec


def summarise(spec: Spec) -> str:
    """Return a spec in one line, such as `gpt 2x64, adamw, 30 steps, float32`."""
    if spec.workload is not None:
        return f"{clean(' '.join(spec.workload.command))}, {spec.train.steps} steps"
    parts = [_model(spec.model), spec.optimizer.kind, f"{spec.train.steps} steps", spec.train.precision]
    return ", ".join(parts if spec.train.compile else [*parts, "not compiled"])


def _model(model: Model) -> str:
    if isinstance(model, Moe):
        return f"moe {model.layers}x{model.width}, {model.active} of {model.experts} experts"
    if isinstance(model, (Gpt, Llama, Bert, Vit)):
        return f"{model.kind} {model.layers}x{model.width}"
    if isinstance(model, (Cnn, Unet)):
        return f"{model.kind} {'-'.join(str(size) for size in model.channels)}"
    if isinstance(model, Resnet):
        return (
            f"resnet {'-'.join(f'{blocks}x{size}' for blocks, size in zip(model.blocks, model.channels, strict=True))}"
        )
    if isinstance(model, Onnx):
        return f"onnx {clean(model.onnx)}"
    return f"mlp {'-'.join(str(size) for size in (model.inputs, *model.hidden, model.outputs))}"

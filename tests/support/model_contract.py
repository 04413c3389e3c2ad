"""What a framework's sessions must make of built-in models; each framework's suite subclasses this with its module."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest
from whole_programs import as_onnx_holds_it, reference_loss

from stackproof.backends.data import batches
from stackproof.backends.models.build import build_program
from stackproof.backends.schedule import rates
from stackproof.backends.session import Options
from stackproof.backends.spec import (
    Bert,
    Data,
    Gpt,
    Llama,
    Model,
    Moe,
    Optimizer,
    Resnet,
    Schedule,
    Spec,
    Train,
    Unet,
    Vit,
)

if TYPE_CHECKING:
    from types import ModuleType

_WIDTHS = {"layers": 1, "width": 8, "heads": 4, "context": 7, "vocabulary": 11}
# The evaluator opens Gelu with constants of float32.
_NEAR = 1e-9
# How far the two points of a difference lie from the parameters.
_STEP = 1e-5


def _spec(name: str, model: Model, data: str, ignored: int | None = None) -> Spec:
    train = Train(2, ignore_label=ignored)
    return Spec(name, model, Data(data, 3), Optimizer("sgd", 0.1), Schedule(), train)


SPECS = [
    _spec("llama", Llama(**_WIDTHS, key_heads=2, hidden=10), "tokens"),
    _spec("gpt2", Gpt(**_WIDTHS, activation="gelu-tanh", position="learned", norm="layernorm", bias=True), "tokens"),
    _spec("moe", Moe(**_WIDTHS, key_heads=1, hidden=6), "tokens"),
    _spec("switch", Moe(**_WIDTHS, key_heads=4, hidden=6, active=1, balance=1.0), "tokens"),
    _spec("bert", Bert(**_WIDTHS), "masked-tokens", -1),
    _spec("vit", Vit(image=(2, 8, 4), patch=2, layers=1, width=8, heads=2), "images"),
    _spec(
        "resnet",
        Resnet(image=(2, 19, 17), channels=(3, 4), blocks=(1, 2), block="bottleneck", stem="imagenet"),
        "images",
    ),
    _spec("unet", Unet(image=(2, 8, 4), channels=(3, 4)), "pixels"),
    _spec("plain-unet", Unet(image=(1, 4, 4), channels=(2, 3), norm="none"), "pixels"),
]


class ModelContract:
    """Attributes: the session module, and whether a step is compiled."""

    module: ClassVar[ModuleType]
    compiled: ClassVar[bool] = False

    @pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
    def test_losses_and_gradients_are_those_of_the_reference_evaluator(self, spec: Spec) -> None:
        program, made, shares = as_onnx_holds_it(build_program(spec)), batches(spec), rates(spec)
        session = self.module.open_session(program, spec, Options("float64", compile=self.compiled))
        loss, norm = session.step(session.place(made[0]), shares[0])
        assert session.read(loss) == pytest.approx(reference_loss(program, made[0]), rel=_NEAR)

        moved = session.parameters()
        gradient = {name: (start - moved[name]) / 0.1 for name, start in program.parameters.items()}
        length = float(np.sqrt(sum(np.sum(value**2) for value in gradient.values())))
        assert session.read(norm) == pytest.approx(length, rel=1e-9)
        ends = [_away(program.parameters, gradient, side * _STEP / length) for side in (1, -1)]
        up, down = (reference_loss(replace(program, parameters=end), made[0]) for end in ends)
        assert (up - down) / (2 * _STEP) == pytest.approx(length, rel=1e-6)

        loss, _ = session.step(session.place(made[1]), shares[1])
        wanted = reference_loss(replace(program, parameters=moved), made[1])
        assert session.read(loss) == pytest.approx(wanted, rel=_NEAR)


def _away(start: dict[str, np.ndarray], way: dict[str, np.ndarray], size: float) -> dict[str, np.ndarray]:
    return {name: value.astype(np.float64) + size * way[name] for name, value in start.items()}

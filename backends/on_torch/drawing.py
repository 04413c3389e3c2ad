"""PyTorch rules: random numbers; `backends/drawing.py` says how they are seeded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..drawing import Draw, drawn
from ..errors import UnsupportedError
from ..registry import rule
from .casting import dtype_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


def _generator(seed: int | None, device: Any) -> Any:
    if seed is None:
        return None
    if torch.compiler.is_compiling():
        raise UnsupportedError(
            "a random operator with a seed has no rule in a program that torch.compile compiles, since generators are "
            "not traced: take out the attribute seed, or evaluate the model without compiling it"
        )
    return torch.Generator(device).manual_seed(seed)


def _values(op: str, shape: Sequence[int], draw: Draw, device: Any) -> Any:
    function = torch.randn if "Normal" in op else torch.rand
    kind, source = getattr(torch, draw.wide), _generator(draw.seed, device)
    made = function(tuple(shape), generator=source, dtype=kind, device=device)
    return (made * draw.scale + draw.shift).to(getattr(torch, draw.dtype))


def _register(op: str) -> None:
    @rule(op, "torch")
    def apply(_inputs: Inputs, attributes: Attributes) -> Any:
        return _values(op, attributes["shape"], drawn(op, attributes), torch.get_default_device())

    @rule(f"{op}Like", "torch")
    def apply_like(inputs: Inputs, attributes: Attributes) -> Any:
        data = inputs[0]
        return _values(op, data.shape, drawn(op, attributes, dtype_name(data)), data.device)


_register("RandomNormal")
_register("RandomUniform")


@rule("Bernoulli", "torch")
def _bernoulli(inputs: Inputs, attributes: Attributes) -> Any:
    data = inputs[0]
    draw = drawn("Bernoulli", attributes, dtype_name(data))
    chances = data if data.dtype == torch.float64 else data.float()
    source, kind = _generator(draw.seed, data.device), chances.dtype
    return (torch.rand(data.shape, generator=source, dtype=kind, device=data.device) < chances).to(
        getattr(torch, draw.dtype)
    )


@rule("Multinomial", "torch")
def _multinomial(inputs: Inputs, attributes: Attributes) -> Any:
    data, draw = inputs[0], drawn("Multinomial", attributes)
    weights = torch.softmax(data if data.dtype == torch.float64 else data.float(), dim=1)
    count, source = attributes.get("sample_size", 1), _generator(draw.seed, data.device)
    return torch.multinomial(weights, count, replacement=True, generator=source).to(getattr(torch, draw.dtype))

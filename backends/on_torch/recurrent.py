"""PyTorch rules: RNN, GRU, LSTM and linear attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the framework's own customary name

from ..linear_attention import Extras, linear_attention
from ..recurrence import Functions, recurrent
from ..registry import rule
from .fused_recurrent import fused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..recurrence import States, Step

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


def _scan(step: Step, states: States, inputs: States) -> tuple[States, States]:
    """Go along the first axis of the inputs."""
    made = []
    for parts in zip(*(value.unbind(0) for value in inputs)):
        states, output = step(states, parts)
        made.append(output)
    return states, tuple(torch.stack(parts) for parts in zip(*made))


def _flip(data: Any, lengths: Any) -> Any:
    if lengths is None:
        return data.flip(0)
    steps = torch.arange(data.shape[0], device=data.device)[:, None]
    until = lengths[None, :]
    places = torch.where(steps < until, until - 1 - steps, steps)
    return data.gather(0, places[..., None].expand_as(data))


def _live(steps: int, lengths: Any) -> Any:
    return (torch.arange(steps, device=lengths.device)[:, None] < lengths[None, :])[..., None]


FUNCTIONS = Functions(
    target="torch",
    project=F.linear,
    split=lambda value, parts: value.chunk(parts, -1),
    clip=lambda value, limit: value.clamp(-limit, limit),
    where=torch.where,
    zeros=lambda shape, beside: beside.new_zeros(shape),
    transpose=lambda value, axes: value.permute(axes),
    stack=lambda values, axis: torch.stack(tuple(values), axis),
    flip=_flip,
    live=_live,
    scan=_scan,
)
_EXTRAS = Extras(
    reshape=lambda value, shape: value.reshape(shape),
    cast=lambda value, name: value.to(getattr(torch, name)),
    name=lambda value: str(value.dtype).rpartition(".")[2],
    exp=torch.exp,
    einsum=torch.einsum,
)


@rule("RNN", "torch")
def _rnn(inputs: Inputs, attributes: Attributes) -> tuple[Any, ...]:
    return fused("RNN", inputs, attributes) or recurrent("RNN", inputs, attributes, FUNCTIONS)


@rule("GRU", "torch")
def _gru(inputs: Inputs, attributes: Attributes) -> tuple[Any, ...]:
    return fused("GRU", inputs, attributes) or recurrent("GRU", inputs, attributes, FUNCTIONS)


@rule("LSTM", "torch")
def _lstm(inputs: Inputs, attributes: Attributes) -> tuple[Any, ...]:
    return fused("LSTM", inputs, attributes) or recurrent("LSTM", inputs, attributes, FUNCTIONS)


@rule("LinearAttention", "torch")
def _linear_attention(inputs: Inputs, attributes: Attributes) -> tuple[Any, Any]:
    return linear_attention(inputs, attributes, FUNCTIONS, _EXTRAS)

"""PyTorch's own recurrent layers, for the nodes that mean the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..nodes import optional
from ..recurrence import named_activations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Where each of PyTorch's gates stands among ONNX's.
_GATES = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 2, 3, 1)}
_PLAIN = {"GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_LENGTHS, _HIDDEN, _PEEPHOLES = 4, 5, 7
_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def fused(op: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return what a recurrent node gives, or None where PyTorch has no layer that means the same."""
    directions = _DIRECTIONS[attributes.get("direction", "forward")]
    layer = _layer(op, inputs, attributes, directions)
    if layer is None:
        return None
    batch_first = bool(attributes.get("layout", 0))
    backward = attributes.get("direction") == "reverse"
    data = inputs[0].transpose(0, 1) if batch_first else inputs[0]
    size = inputs[2].shape[-1]
    begin = [_begin(optional(inputs, _HIDDEN + place), data, (directions, size), batch_first) for place in range(2)]
    weights = [part for place in range(directions) for part in _weights(op, inputs, place)]
    state = tuple(begin) if op == "LSTM" else begin[0]
    options = (optional(inputs, 3) is not None, 1, 0.0, False, directions > 1, False)
    every, *last = layer(data.flip(0) if backward else data, state, weights, *options)
    every = every.flip(0) if backward else every
    every = every.reshape(*every.shape[:2], directions, size).permute((1, 0, 2, 3) if batch_first else (0, 2, 1, 3))
    return (every, *(part.transpose(0, 1) if batch_first else part for part in last))


def _layer(op: str, inputs: Sequence[Any], attributes: Mapping[str, Any], directions: int) -> Any:
    unlike = attributes.get("clip") is not None or attributes.get("input_forget", 0)
    held = optional(inputs, _LENGTHS) is not None or (op == "LSTM" and optional(inputs, _PEEPHOLES) is not None)
    if unlike or held or inputs[0].dtype not in (torch.float32, torch.float64) or 0 in inputs[0].shape:
        return None
    names = [name for name, _ in named_activations(op, attributes, directions)]
    if op == "RNN":
        layers = {"Tanh": torch.rnn_tanh, "Relu": torch.rnn_relu}
        return layers.get(names[0]) if len(set(names)) == 1 else None
    if names != _PLAIN[op] * directions or (op == "GRU" and not attributes.get("linear_before_reset", 0)):
        return None
    return torch.lstm if op == "LSTM" else torch.gru


def _begin(given: Any, data: Any, sizes: tuple[int, int], batch_first: bool) -> Any:
    if given is None:
        return data.new_zeros(sizes[0], data.shape[1], sizes[1])
    return given.transpose(0, 1).contiguous() if batch_first else given


def _weights(op: str, inputs: Sequence[Any], place: int) -> list[Any]:
    """Return a direction's weights with the gates in PyTorch's order: input, recurrent, and both biases if any."""
    gates = len(_GATES[op])
    biases = () if optional(inputs, 3) is None else inputs[3][place].chunk(2)
    return [
        part if gates == 1 else torch.cat([part.chunk(gates)[gate] for gate in _GATES[op]])
        for part in (inputs[1][place], inputs[2][place], *biases)
    ]

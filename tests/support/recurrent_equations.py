"""RNN, GRU and LSTM by the equations of ONNX's documentation, one sequence of a batch after the other, in numpy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def _sigmoid(value: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-value))


# The formulas of the operators' documentation, with a stated alpha and beta.
FORMULAS: Mapping[str, Callable[[np.ndarray, float, float], np.ndarray]] = {
    "Affine": lambda x, a, b: a * x + b,
    "Elu": lambda x, a, _: np.where(x >= 0, x, a * (np.exp(x) - 1)),
    "HardSigmoid": lambda x, a, b: np.minimum(np.maximum(a * x + b, 0), 1),
    "LeakyRelu": lambda x, a, _: np.where(x >= 0, x, a * x),
    "Relu": lambda x, _a, _b: np.maximum(0, x),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "Sigmoid": lambda x, _a, _b: _sigmoid(x),
    "Softplus": lambda x, _a, _b: np.log(1 + np.exp(x)),
    "Softsign": lambda x, _a, _b: x / (1 + np.abs(x)),
    "Tanh": lambda x, _a, _b: np.tanh(x),
    "ThresholdedRelu": lambda x, a, _: np.where(x >= a, x, 0),
}


@dataclass(frozen=True)
class Network:
    """A recurrent node with its inputs in layout 0.

    Attributes:
        op: `RNN`, `GRU` or `LSTM`.
        data: (steps, batch, size).
        inputs: W, R and, where given, B, P, initial_h and initial_c by ONNX's name, and sequence_lens.
        functions: A function of a tensor per activation, direction after direction.
        attributes: The node's.
    """

    op: str
    data: np.ndarray
    inputs: Mapping[str, np.ndarray]
    functions: tuple[Callable[[np.ndarray], np.ndarray], ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def outputs(self) -> list[np.ndarray]:
        """Return Y, Y_h and, for an LSTM, Y_c; zeros after a sequence's end."""
        steps, batch, _ = self.data.shape
        directions, _, hidden = self.inputs["R"].shape
        every = np.zeros((steps, directions, batch, hidden))
        last = np.zeros((2 if self.op == "LSTM" else 1, directions, batch, hidden))
        for place in range(directions):
            backward = self.attributes.get("direction") == "reverse" or place == 1
            for entry in range(batch):
                length = int(self.inputs.get("sequence_lens", [steps] * batch)[entry])
                order = range(length)[::-1] if backward else range(length)
                states = [self._first(name, place, entry) for name in ("initial_h", "initial_c")]
                for step in order:
                    states = self._step(self.data[step, entry], states, place)
                    every[step, place, entry] = states[0]
                for kind in range(len(last)):
                    last[kind, place, entry] = states[kind]
        return [every, *last]

    def _first(self, name: str, place: int, entry: int) -> np.ndarray:
        hidden = self.inputs["R"].shape[-1]
        return self.inputs[name][place, entry] if name in self.inputs else np.zeros(hidden)

    def _step(self, x: np.ndarray, states: list[np.ndarray], place: int) -> list[np.ndarray]:
        count = GATES[self.op]
        w, r = (np.split(self.inputs[name][place], count) for name in "WR")
        hidden = r[0].shape[-1]
        b = np.split(self.inputs.get("B", np.zeros((place + 1, 2 * count * hidden)))[place], 2 * count)
        own = len(self.functions) // self.inputs["R"].shape[0]
        limit = self.attributes.get("clip", np.inf)
        f, *rest = (
            lambda value, function=function: function(np.clip(value, -limit, limit))
            for function in self.functions[place * own : (place + 1) * own]
        )
        h, c = states
        if self.op == "RNN":
            return [f(w[0] @ x + r[0] @ h + b[0] + b[1]), c]
        if self.op == "GRU":
            z, reset = (f(w[gate] @ x + r[gate] @ h + b[gate] + b[gate + 3]) for gate in (0, 1))
            if self.attributes.get("linear_before_reset"):
                fresh = rest[0](w[2] @ x + reset * (r[2] @ h + b[5]) + b[2])
            else:
                fresh = rest[0](w[2] @ x + r[2] @ (reset * h) + b[5] + b[2])
            return [(1 - z) * fresh + z * h, c]
        i, o, forget, fresh = (w[gate] @ x + r[gate] @ h + b[gate] + b[gate + 4] for gate in range(4))
        p = np.split(self.inputs.get("P", np.zeros((place + 1, 3 * hidden)))[place], 3)
        i = f(i + p[0] * c)
        forget = 1 - i if self.attributes.get("input_forget") else f(forget + p[2] * c)
        new = forget * c + i * rest[0](fresh)
        return [f(o + p[1] * new) * rest[1](new), new]

"""Sessions that do gradient descent on half the square of every parameter, whatever the program says.

The loss is `|p|**2 / 2` and its gradient `p`, so that each update multiplies the parameters by `1 - rate`; with a rate
above 1 the second loss is no number. A device named `cuda`, 13 threads, the precision `float16` and a rate above 2 go
wrong, each in its way.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnsupportedError
from ..session import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..noise import Noise
    from ..program import Program
    from ..session import Options

_opened: list[Options] = []


def prepare(threads: int, device: str) -> None:
    print("a framework says hello on standard output")  # noqa: T201 - frameworks do
    os.write(1, b"and so does its native code\n")
    if device == "cuda":
        raise UnsupportedError("there is no GPU here")
    if threads == 13:
        sys.exit("a framework ends the process")


def describe() -> Platform:
    why, details = "one thread", {"built": "for tests"}
    return Platform("cpu", "a processor", {"numpy": np.__version__}, deterministic=True, deterministic_why=why,
                    details=details)  # fmt: skip


def open_session(program: Program, _spec: object, options: Options) -> Session:
    if options.precision == "float16":
        raise ZeroDivisionError("halves are not divided here")
    _opened.append(options)
    return Session(program, options)


class Session:
    def __init__(self, program: Program, options: Options) -> None:
        self.mode = "graph" if options.compile else "eager"
        self.execution, self.trials = options.execution, {}
        self.why = f"session {len(_opened)} of this process"
        self._program, self._options = program, options
        self.reset(options.noise)

    def place(self, batch: Mapping[str, np.ndarray]) -> Any:
        return batch

    def step(self, _placed: Any, rates: np.ndarray) -> tuple[float, float]:
        square = sum(float(np.sum(value.astype(np.float64) ** 2)) for value in self._parameters.values())
        self._steps += 1
        self._parameters = {name: self._updated(name, value, rates[0]) for name, value in self._parameters.items()}
        if rates[0] > 2:
            raise OverflowError("this rate leads nowhere")
        lost = rates[0] > 1 and self._steps == 2
        return float("nan") if lost else square / 2.0, square**0.5

    def _updated(self, name: str, value: np.ndarray, rate: float) -> np.ndarray:
        factors = self._noise.factors(f"update/{name}", value.shape) if self._noise else 1.0
        return np.asarray(value * (1.0 - rate) * factors, dtype=value.dtype)

    def read(self, scalar: float) -> float:
        return scalar

    def wait(self) -> None:
        return

    def parameters(self) -> dict[str, np.ndarray]:
        return dict(self._parameters)

    def averages(self) -> dict[str, np.ndarray]:
        return {name: value * 0.5 for name, value in self._parameters.items()}

    def saved(self) -> dict[str, np.ndarray]:
        return {f"parameter/{name}": value.copy() for name, value in self._parameters.items()}

    def restore(self, mapping: Mapping[str, np.ndarray]) -> None:
        self._parameters = {name.partition("/")[2]: value for name, value in mapping.items()}

    def reset(self, noise: Noise | None) -> None:
        self._noise, self._steps = noise, 0
        self._parameters = {
            name: value.astype(self._options.precision) for name, value in self._program.parameters.items()
        }

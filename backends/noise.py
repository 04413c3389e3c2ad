"""Rounding-sized noise: how far a run's numbers spread when each operation is off by one rounding error.

A run in float64 multiplies every computed floating-point value by `1 + unit * s`, with `s` drawn from {-1, +1} once per
element and run. That is the standard model of floating-point arithmetic (Higham, Accuracy and Stability of Numerical
Algorithms, 2002, section 2.2) made into a Monte Carlo experiment, as Monte Carlo arithmetic does (Parker, Monte Carlo
Arithmetic, UCLA CSD-970002, 1997). Gradients flow through the factors and so are perturbed too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .draws import signs
from .values import MOVING_OPERATORS, NARROW_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

# Operators that only move or select values or turn their sign, and so round nothing.
EXACT_OPERATORS = MOVING_OPERATORS | {"Abs", "Max", "MaxPool", "Min", "Neg", "Relu", "Sign"}

# Half a unit in the last place of float32, relative: the largest relative error of one rounding.
FLOAT32_UNIT = 2.0**-24
# The same of narrow dtypes, which have 8 and 11 bits of significand.
NARROW_UNITS = {"bfloat16": 2.0**-8, "float16": 2.0**-11}


@dataclass(frozen=True)
class Noise:
    """One draw of rounding-sized noise.

    Attributes:
        seed: Which draw.
        unit: Relative size of one rounding error.
        narrow: The same of tensors that mixed precision holds in a narrow dtype.
    """

    seed: int
    unit: float = FLOAT32_UNIT
    narrow: float = 0.0

    def factors(self, name: str, shape: Sequence[int]) -> np.ndarray:
        """Return what a tensor is multiplied by.

        Args:
            name: The tensor's name: a node's output, or `update/` and a parameter's name for the updated parameter.
            shape: The tensor's shape.

        Returns:
            float64 of that shape; each element is `1 - unit` or `1 + unit`.
        """
        unit = self.narrow if name.endswith(NARROW_SUFFIX) else self.unit
        key = int.from_bytes(hashlib.sha256(f"{self.seed}/{name}".encode()).digest()[:8], "little")
        return np.asarray(1.0 + unit * signs(key, tuple(shape)))

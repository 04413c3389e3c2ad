"""Evaluating one operator on a framework, for tests of arithmetic and dtypes; needs numpy and the framework only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stackproof.backends.program import Input, Node, Program
from stackproof.backends.static import STATIC_INPUTS
from stackproof.backends.values import Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType


def evaluation(
    module: ModuleType, op: str, inputs: Sequence[Any], attributes: Mapping[str, Any], *, compiled: bool
) -> Any:
    """Return an evaluation of one node whose static inputs are constants, and whose outputs are y0, y1 and y2."""
    names = [f"x{place}" if value is not None else "" for place, value in enumerate(inputs)]
    static = {f"x{place}" for place in STATIC_INPUTS.get(op, ())}
    constants = {name: value for name, value in zip(names, inputs, strict=True) if name in static}
    fed = tuple(
        Input(name, str(value.dtype), tuple(getattr(value, "values", value).shape))
        for name, value in zip(names, inputs, strict=True)
        if name and name not in static
    )
    count = 3 if op == "DynamicQuantizeLinear" else 1
    outputs = tuple(f"y{place}" for place in range(count))
    program = Program(op, fed, (Node(op, tuple(names), outputs, attributes),), "", {}, constants, outputs)
    return module.Evaluation(program, compile=compiled)


def run(module: ModuleType, op: str, *inputs: Any, compiled: bool = False, **attributes: Any) -> Any:
    """Return the first output of a node."""
    made = evaluation(module, op, inputs, attributes, compiled=compiled).run(fed(op, inputs))
    return made["y0"]


def fed(op: str, inputs: Sequence[Any]) -> dict[str, Any]:
    """Return the inputs that are not static, by name."""
    static = STATIC_INPUTS.get(op, ())
    return {f"x{place}": value for place, value in enumerate(inputs) if value is not None and place not in static}


def gradients(module: ModuleType, op: str, *inputs: Any, **attributes: Any) -> list[np.ndarray]:
    """Return the gradient of the sum of the first output with respect to each float64 input."""
    shape = run(module, op, *inputs, **attributes).shape
    moving = [f"x{place}" for place, value in enumerate(inputs) if value is not None and value.dtype == np.float64]
    made = evaluation(module, op, inputs, attributes, compiled=False)
    found = made.gradients(fed(op, inputs), moving, {"y0": np.ones(shape)})
    return [found[name] for name in moving]


def same(made: Any, wanted: Any) -> None:
    """Hold a value to another one exactly: dtype, shape, elements, signs of zeros."""
    if isinstance(wanted, Narrow):
        assert isinstance(made, Narrow)
        assert made.dtype == wanted.dtype
        made, wanted = made.values, wanted.values
    assert made.dtype == wanted.dtype
    assert made.shape == wanted.shape
    np.testing.assert_array_equal(made, wanted)
    if made.dtype.kind == "f":
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(made[numbers]), np.signbit(wanted[numbers]))

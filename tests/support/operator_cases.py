"""Random operator cases for every framework, judged by ONNX's reference evaluator.

A framework's suite gives a `Target`; everything here is neutral between frameworks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from stackproof.backends.lower import Lowered
from stackproof.backends.program import OPSET, Node, Program
from stackproof.backends.static import STATIC_INPUTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OPERATORS = """
    Add Sub Mul Div Neg Exp Log Sqrt Pow Relu Gelu Tanh Sigmoid Swish Identity Cast MatMul Gemm Gather Reshape Transpose
    Flatten Concat Split Squeeze Unsqueeze Softmax LogSoftmax ReduceMean ReduceSum LayerNormalization RMSNormalization
    RotaryEmbedding Attention Conv MaxPool GlobalAveragePool SoftmaxCrossEntropyLoss
"""
OPERATORS = frozenset(_OPERATORS.split())


@dataclass(frozen=True)
class Target:
    """A framework under test.

    Attributes:
        name: As in the rule table.
        to_tensor: Makes the framework's tensor of a numpy array, keeping the dtype where the framework has it.
        to_numpy: The way back.
        pullback: Called with a function from a list of tensors to one tensor, with the tensors and with a weight per
            element of the result; returns the gradient of the weighted sum with respect to each tensor.
    """

    name: str
    to_tensor: Callable[[np.ndarray], Any]
    to_numpy: Callable[[Any], np.ndarray]
    pullback: Callable[[Callable[[list[Any]], Any], list[Any], Any], list[Any]]


@dataclass(frozen=True)
class Case:
    """One operator application with its inputs (None: absent)."""

    name: str
    op: str
    inputs: tuple[np.ndarray | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    rtol: float = 1e-3
    atol: float = 1e-7

    def __str__(self) -> str:
        return self.name


def run(case: Case, target: Target) -> tuple[np.ndarray, ...]:
    """Run a case through the lowering of a one-node program, and return its outputs."""
    names, static = _names(case)
    tensors = {name: target.to_tensor(value) for name, value in names.items() if name not in static}
    known = Lowered(_program(case, names, static), target.name)({}, tensors)
    return tuple(target.to_numpy(known[f"out{place}"]) for place in range(case.outputs))


def _names(case: Case) -> tuple[dict[str, np.ndarray], set[str]]:
    names = {f"in{place}": value for place, value in enumerate(case.inputs) if value is not None}
    return names, {f"in{place}" for place in STATIC_INPUTS.get(case.op, ())}


def _program(case: Case, names: Mapping[str, np.ndarray], static: set[str]) -> Program:
    inputs = tuple(f"in{place}" if value is not None else "" for place, value in enumerate(case.inputs))
    outputs = tuple(f"out{place}" for place in range(case.outputs))
    constants = {name: names[name] for name in static if name in names}
    return Program("case", (), (Node(case.op, inputs, outputs, case.attributes),), "out0", {}, constants)


def reference(case: Case) -> tuple[np.ndarray, ...]:
    """Return the outputs that ONNX's reference evaluator computes; it rounds Gelu to float32, which is done here."""
    if case.op == "Gelu":
        return (_gelu(case.inputs[0], case.attributes.get("approximate", "none")),)
    names, _ = _names(case)
    inputs = [f"in{place}" if value is not None else "" for place, value in enumerate(case.inputs)]
    outputs = [f"out{place}" for place in range(case.outputs)]
    node = helper.make_node(case.op, inputs, outputs, **case.attributes)
    graph = helper.make_graph(
        [node],
        case.name,
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in names.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    return tuple(np.asarray(value) for value in ReferenceEvaluator(model).run(None, names))


def _gelu(data: np.ndarray, approximate: str) -> np.ndarray:
    """The two formulas of the operator's documentation."""
    wide = data.astype(np.float64)
    if approximate == "tanh":
        share = np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))
    else:
        share = np.vectorize(math.erf)(wide / math.sqrt(2))
    return np.asarray(0.5 * wide * (1 + share)).astype(data.dtype)


def gradient_error(case: Case, target: Target, step: float = 1e-5) -> float:
    """Compare gradients with central differences of the reference evaluator, along one random direction per input.

    Args:
        case: All its floating-point inputs are float64.
        target: The framework.
        step: Length of the difference.

    Returns:
        The largest difference of directional derivatives, relative to the largest of them or to 1.
    """
    draw = np.random.default_rng(7)
    places = [i for i, value in enumerate(case.inputs) if value is not None and value.dtype == np.float64]
    weights = draw.standard_normal(reference(case)[0].shape)
    directions = {place: draw.standard_normal(case.inputs[place].shape) for place in places}
    gradients = _gradients(case, target, places, weights)
    errors = []
    for place, gradient in zip(places, gradients, strict=True):
        ahead, behind = (_scalar(case, place, sign * step * directions[place], weights) for sign in (1, -1))
        slope, along = (ahead - behind) / (2 * step), float(np.sum(gradient * directions[place]))
        assert gradient.dtype == np.float64
        errors.append(abs(slope - along) / max(1.0, abs(slope)))
    return max(errors)


def first_output_gradients(case: Case, target: Target) -> list[np.ndarray]:
    """Return the gradients of the sum of a case's first output with respect to its float64 inputs."""
    places = [i for i, value in enumerate(case.inputs) if value is not None and value.dtype == np.float64]
    return _gradients(case, target, places, np.ones(reference(case)[0].shape))


def _scalar(case: Case, place: int, change: np.ndarray, weights: np.ndarray) -> float:
    inputs = list(case.inputs)
    inputs[place] = inputs[place] + change
    moved = Case(case.name, case.op, tuple(inputs), case.attributes, case.outputs)
    return float(np.sum(reference(moved)[0] * weights))


def _gradients(case: Case, target: Target, places: list[int], weights: np.ndarray) -> list[np.ndarray]:
    names, static = _names(case)
    lowered = Lowered(_program(case, names, static), target.name)
    tensors = {name: target.to_tensor(value) for name, value in names.items() if name not in static}

    def result(moving: list[Any]) -> Any:
        moved = {f"in{place}": value for place, value in zip(places, moving, strict=True)}
        return lowered({}, {**tensors, **moved})["out0"]

    found = target.pullback(result, [tensors[f"in{place}"] for place in places], target.to_tensor(weights))
    return [target.to_numpy(gradient) for gradient in found]

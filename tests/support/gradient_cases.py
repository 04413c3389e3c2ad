"""Cases for the gradient of every differentiable operator: ONNX's own, in float64 and away from special points.

The slopes are central differences of ONNX's reference evaluator in float64. Where it computes in float32, or lacks the
operator, `OWN_FORWARD` says so, and the differences are of the rule's own forward pass, which the suite and the random
cases hold to ONNX.
"""

from __future__ import annotations

import functools
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from differentiable import differentiable, schemas
from gradient_outcome import GradientCase, central_differences
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from suite_cases import collected, counted, is_written_out, operator_of, plain, program_of
from written_gradients import DOMAINS, WRITTEN

from stackproof.backends.program import dump
from stackproof.matrix.importing.convert import to_program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from differentiable import Places
    from onnx import GraphProto, ModelProto, NodeProto

# Operators that ONNX's reference evaluator is no judge of in float64.
_ROUNDS = "it computes in float32"
# By operator, or by case.
OWN_FORWARD = {
    "AffineGrid": _ROUNDS,
    "CausalConvWithState": _ROUNDS,
    "DeformConv": _ROUNDS,
    "Erf": _ROUNDS,
    "Gelu": _ROUNDS,
    "GlobalLpPool": "it lacks the operator",
    "GridSample": _ROUNDS,
    "GroupNormalization": _ROUNDS,
    "LinearAttention": _ROUNDS,
    "MaxRoiPool": "it lacks the operator",
    "Scatter": "it lacks the operator",
    "loop_1": "it joins what the steps give along an axis, where the operator makes a new one",
    "MeanVarianceNormalization": "it writes the operator out in float32",
    "Optional": "it makes a list of the optional tensor",
}
# Operators that ONNX defines for float32 and less only; a float64 run widens them all the same.
_NARROWER = frozenset(
    {"CausalConvWithState", "DequantizeLinear", "FlexAttention", "LinearAttention", "RotaryEmbedding"}
)
# The Scan of operator set 8 has another first input, which the evaluator does not take.
_LEFT_OUT = frozenset({"test_scan_sum"})
# As many cases an operator has at most, and as many elements a case has at most.
_MOST_CASES, _MOST_ELEMENTS = 3, 3000
_DOUBLE = "tensor(double)"


@dataclass(frozen=True)
class Point:
    """A model with a value for each input, and the names of the inputs and outputs that have gradients."""

    model: ModelProto
    values: Mapping[str, Any]
    moving: tuple[str, ...]
    outputs: tuple[str, ...]


@functools.cache
def gradient_cases(operator: str) -> tuple[GradientCase, ...]:
    """Return an operator's cases, from ONNX's suite or written here; at least one for each of `differentiable()`."""
    written = [_from_text(operator, number, text) for number, text in enumerate(WRITTEN.get(operator, ()))]
    return (*written, *(_case(name, operator, point) for name, point in _chosen(operator).items()))


def _chosen(operator: str) -> dict[str, Point]:
    """Return some of the suite's cases in float64, as unlike each other as their number allows."""
    unlike = {_signature(collected()[name]): name for name in reversed(_by_operator().get(operator, ()))}
    places = differentiable()[operator]
    points = {name: _in_double(collected()[name], places) for name in reversed(unlike.values())}
    found = {name: point for name, point in points.items() if point}
    return dict(list(found.items())[:: max(1, -(-len(found) // _MOST_CASES))])


@functools.cache
def _by_operator() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, case in counted().items():
        if not is_written_out(case) and len(case.model.graph.node) == 1 and name not in _LEFT_OUT:
            found.setdefault(operator_of(case), []).append(name)
    return found


def _signature(case: Any) -> tuple[Any, ...]:
    (node,) = case.model.graph.node
    attributes = sorted((entry.name, str(onnx.helper.get_attribute_value(entry))) for entry in node.attribute)
    ranks = [len(entry.type.tensor_type.shape.dim) for entry in case.model.graph.input]
    return (tuple(attributes), tuple(map(bool, node.input)), len(node.output), tuple(ranks))


def _in_double(case: Any, places: Places) -> Point | None:
    """Return a case in float64, away from special points; None where it has no gradient."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    (node,) = model.graph.node
    entries = (*model.graph.input, *model.graph.output)
    ((given, _),) = case.data_sets
    if any(entry.type.WhichOneof("value") != "tensor_type" for entry in entries):
        return None
    values = {entry.name: plain(value, entry.type) for entry, value in zip(model.graph.input, given, strict=True)}
    if not _fits(values):
        return None
    endless = {name for name, value in values.items() if not np.all(np.isfinite(value))}
    wide = _widened(node, {entry.name: entry.type.tensor_type.elem_type for entry in entries})
    for entry in entries:
        if entry.name in wide:
            entry.type.tensor_type.elem_type = TensorProto.DOUBLE
    _widen_attributes(node)
    draw = np.random.default_rng(zlib.crc32(case.name.encode()))
    for place, name in enumerate(node.input):
        if name in wide:
            values[name] = _moved(node.op_type, place, values[name], draw)
    moving = [name for place, name in enumerate(node.input) if name in wide - endless and places.has_input(place)]
    outputs = [name for place, name in enumerate(node.output) if name in wide and places.has_output(place)]
    return Point(model, values, tuple(moving), tuple(outputs)) if moving and outputs else None


def _widened(node: NodeProto, kinds: Mapping[str, int]) -> set[str]:
    """Return the tensors of a node that become float64: those that hold float32 and whose place allows it."""
    schema, found = schemas()[node.op_type], set()
    for names, entries in ((node.input, schema.inputs), (node.output, schema.outputs)):
        for place, name in enumerate(names):
            allowed = node.op_type in _NARROWER or _DOUBLE in entries[min(place, len(entries) - 1)].types
            if name and allowed and kinds[name] in (TensorProto.FLOAT, TensorProto.DOUBLE):
                found.add(name)
    return found


def _widen_attributes(node: NodeProto) -> None:
    for entry in node.attribute:
        if entry.name in ("to", "dtype", "output_dtype", "stash_type") and entry.i == TensorProto.FLOAT:
            entry.i = TensorProto.DOUBLE
        if entry.type == AttributeProto.TENSOR:
            _widen_tensor(entry.t)
        if entry.type == AttributeProto.GRAPH:
            _widen_body(entry.g)


def _widen_body(graph: GraphProto) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for entry in (*graph.input, *graph.output, *graph.value_info):
        if entry.type.tensor_type.elem_type == TensorProto.FLOAT:
            entry.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        _widen_attributes(node)


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), name))


def _fits(values: Mapping[str, Any]) -> bool:
    arrays = [value for value in values.values() if isinstance(value, np.ndarray)]
    return len(arrays) == len(values) and all(0 < array.size <= _MOST_ELEMENTS for array in arrays)


def _moved(operator: str, place: int, value: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Return an input in float64: drawn where the operator has a domain, else moved so that no elements are equal."""
    low, high = DOMAINS.get((operator, place), (0.0, 0.0))
    if low < high:
        return draw.uniform(low, high, value.shape)
    return value.astype(np.float64) + draw.uniform(0.005, 0.03, value.shape) * draw.choice([-1.0, 1.0], value.shape)


def _from_text(operator: str, number: int, text: str) -> GradientCase:
    """Return a case of which only the model is written: its inputs are drawn, each with a gradient."""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 28, "ai.onnx.ml" : 5]>\n{text}')
    draw = np.random.default_rng(zlib.crc32(text.encode()))
    shapes = {e.name: [size.dim_value for size in e.type.tensor_type.shape.dim] for e in model.graph.input}
    values = {name: draw.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}
    outputs = tuple(entry.name for entry in model.graph.output)
    point = Point(model, values, tuple(values), outputs)
    case = _case(f"{operator.lower()}_{number}", operator, point)
    return replace(case, values=_reference(model)(values)) if case.slopes else case


def _case(name: str, operator: str, point: Point) -> GradientCase:
    draw = np.random.default_rng(zlib.crc32(name.encode()) + 1)
    directions = {entry: draw.standard_normal(point.values[entry].shape) for entry in point.moving}
    own = bool({name, operator} & set(OWN_FORWARD))
    shapes = _shapes(point) if own else _computed_shapes(point)
    cotangents = {entry: draw.standard_normal(shapes[entry]) for entry in point.outputs}
    program = to_program(point.model) if operator in _NARROWER else program_of(point.model, name)
    case = GradientCase(name, operator, dump(program), point.values, directions, cotangents)
    if own:
        return case
    return replace(case, slopes=central_differences(_reference(point.model), case))


def _shapes(point: Point) -> dict[str, tuple[int, ...]]:
    sizes = {entry.name: entry.type.tensor_type.shape.dim for entry in point.model.graph.output}
    return {name: tuple(size.dim_value for size in found) for name, found in sizes.items()}


def _computed_shapes(point: Point) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(value) for name, value in _reference(point.model)(point.values).items()}


def _reference(model: ModelProto) -> Callable[[Mapping[str, Any]], dict[str, np.ndarray]]:
    evaluator = ReferenceEvaluator(model)
    names = [entry.name for entry in model.graph.output]

    def run(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return dict(zip(names, evaluator.run(None, dict(values)), strict=True))

    return run

"""Work that is done once, before training: constants folded, shapes worked out, what nothing needs left out."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from .checking import ONNX_DOMAINS, bodies
from .limits import makes_at_most
from .sizes import infer
from .tensors import FLOATS, dtype_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from onnx import GraphProto, ModelProto, TypeProto

# Elements of the largest tensor that is worked out beforehand: what is larger costs more to keep than to make.
LARGEST: Final = 2**22
# What may be worked out beforehand: operators that move, choose and compare, and simple arithmetic. For all others the
# frameworks' own rules count, which the tests of training hold to ONNX's text; the evaluator here errs in some of them.
_FOLDED: Final = frozenset(
    {
        *("Constant", "ConstantOfShape", "Range", "EyeLike", "Shape", "Size", "Identity", "Cast", "CastLike"),
        *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile", "Concat", "Slice", "Split"),
        *("Gather", "GatherElements", "GatherND", "Pad", "Trilu", "Where", "NonZero"),
        *("ScatterElements", "ScatterND", "DepthToSpace", "SpaceToDepth", "ArgMax", "ArgMin"),
        *("Add", "Sub", "Mul", "Div", "Mod", "Neg", "Abs", "Sign", "Reciprocal", "Sqrt", "Pow", "Exp", "Log"),
        *("Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh", "Asin", "Acos", "Atan", "Sigmoid", "Relu"),
        *("Floor", "Ceil", "Round", "Clip", "Min", "Max", "IsNaN", "IsInf"),
        *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor", "Not"),
        *("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "ReduceMax", "ReduceMin"),
    }
)
# What adds up, which numpy does in the type of its elements: only where that is at least 32 bits wide.
_SUMMED: Final = frozenset({"MatMul", "CumSum", "Sum", "Mean", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL2"})
_WIDE: Final = 4


def fold(model: ModelProto, source: str, moving: Collection[str]) -> tuple[ModelProto, int]:
    """Return a model in which everything that is known beforehand is a constant.

    Args:
        model: A model of concrete input sizes.
        source: What the user called it.
        moving: Initializers that are trained or replaced at each step, and what is put aside: they are never folded.

    Returns:
        The model, with inferred shapes, and the number of nodes that are gone.

    Raises:
        InputError: Shapes do not fit each other.
    """
    before = len(model.graph.node)
    constants_first(model.graph)
    drop_identities(model.graph)
    while True:
        model = infer(model, source)
        if not _Folding(model, moving).run():
            break
    drop_dead(model.graph)
    return model, max(0, before - len(model.graph.node))


def constants_first(graph: GraphProto) -> None:
    """Make initializers of a graph's Constant nodes, those of bodies too, and dense tensors of sparse ones."""
    for sparse in graph.sparse_initializer:
        graph.initializer.append(numpy_helper.from_array(_dense(sparse), sparse.values.name))
    del graph.sparse_initializer[:]
    _take_constants(graph, lambda _: True)
    for node in graph.node:
        for body in bodies(node):
            constants_first(body)


def weights_first(graph: GraphProto) -> None:
    """Make initializers of those Constant nodes of the main graph that may hold a weight: floats, more than one."""
    _take_constants(graph, lambda tensor: tensor.data_type in FLOATS and math.prod(tensor.dims) > 1)


def _take_constants(graph: GraphProto, wanted: Callable[[TensorProto], bool]) -> None:
    kept = []
    for node in graph.node:
        is_constant = node.op_type == "Constant" and node.domain in ONNX_DOMAINS
        tensor = _constant(node) if is_constant else None
        if tensor is not None and wanted(tensor):
            tensor.name = node.output[0]
            graph.initializer.append(tensor)
        else:
            kept.append(node)
    _restate(graph, kept)


def drop_identities(graph: GraphProto) -> None:
    """Take Identity nodes out of the main graph; what a body or the user takes from one by name stays."""
    held = {entry.name for entry in graph.output}
    stands_for: dict[str, str] = {}
    kept = []
    for node in graph.node:
        if node.op_type == "Identity" and node.output[0] not in held and node.domain in ONNX_DOMAINS:
            stands_for[node.output[0]] = stands_for.get(node.input[0], node.input[0])
        else:
            kept.append(node)
    _rename(kept, stands_for)
    _restate(graph, kept)


def drop_dead(graph: GraphProto) -> None:
    """Take out nodes and initializers that no output needs."""
    needed = {entry.name for entry in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(_taken(node))
    _restate(graph, kept[::-1])
    used = [tensor for tensor in graph.initializer if tensor.name in needed]
    del graph.initializer[:]
    graph.initializer.extend(used)


def shapes_of(model: ModelProto) -> dict[str, tuple[int, ...]]:
    """Return the shapes of inputs, outputs and tensors between them, as far as all of their sizes are known."""
    entries = (*model.graph.input, *model.graph.value_info, *model.graph.output)
    known = [(entry.name, _sizes(entry.type)) for entry in entries]
    known += [(tensor.name, tuple(tensor.dims)) for tensor in model.graph.initializer]
    return {name: sizes for name, sizes in known if sizes is not None}


class _Folding:
    """One pass over a model's main graph."""

    def __init__(self, model: ModelProto, moving: Collection[str]) -> None:
        self._model, self._graph = model, model.graph
        self._known = {t.name: t for t in self._graph.initializer if t.name not in moving}
        self._types = {entry.name: entry.type for entry in (*self._graph.input, *self._graph.value_info)}
        self._types |= {t.name: helper.make_tensor_type_proto(t.data_type, t.dims) for t in self._graph.initializer}

    def run(self) -> bool:
        """Fold what can be folded, and say whether anything was."""
        kept = [node for node in self._graph.node if not self._folded(node)]
        changed = len(kept) < len(self._graph.node)
        _restate(self._graph, kept)
        return changed

    def _folded(self, node: NodeProto) -> bool:
        made = self._shape(node) or self._computed(node)
        if made is None:
            return False
        for name, tensor in made.items():
            tensor.name = name
            self._known[name] = tensor
            self._graph.initializer.append(tensor)
        return True

    def _shape(self, node: NodeProto) -> dict[str, TensorProto] | None:
        """Return what a node that asks for a shape gives."""
        if node.op_type not in {"Shape", "Size"} or node.domain not in ONNX_DOMAINS:
            return None
        sizes = _sizes(self._types.get(node.input[0]))
        if sizes is None:
            return None
        if node.op_type == "Size":
            return {node.output[0]: numpy_helper.from_array(np.array(math.prod(sizes), np.int64))}
        ends = {entry.name: entry.i for entry in node.attribute}
        part = sizes[slice(ends.get("start"), ends.get("end"))]
        return {node.output[0]: numpy_helper.from_array(np.array(part, np.int64))}

    def _computed(self, node: NodeProto) -> dict[str, TensorProto] | None:
        names = [name for name in node.input if name]
        if node.domain not in ONNX_DOMAINS or not all(name in self._known for name in names) or not self._small(node):
            return None
        tensors = [self._known[name] for name in names]
        if not _may_fold(node, tensors) or not makes_at_most(self._model, node, tensors, LARGEST):
            return None
        made = _evaluated(self._model, node, tensors)
        return made if made is not None and all(self._is_expected(name, made[name]) for name in made) else None

    def _is_expected(self, name: str, tensor: TensorProto) -> bool:
        """Return whether a tensor has the type and the sizes that ONNX infers, as far as it does."""
        kind = self._types.get(name)
        if kind is None or not kind.HasField("tensor_type"):
            return kind is None
        sizes = _sizes(kind)
        return tensor.data_type == kind.tensor_type.elem_type and sizes in (None, tuple(tensor.dims))

    def _small(self, node: NodeProto) -> bool:
        """Return whether a node's outputs are known to be small enough to be kept."""
        sizes = [_sizes(self._types.get(name)) for name in node.output if name]
        counts = [math.prod(entry) for entry in sizes if entry is not None]
        return all(count <= LARGEST for count in counts) and (
            len(counts) == len(sizes) or all(math.prod(self._known[n].dims) <= LARGEST for n in node.input if n)
        )


def _may_fold(node: NodeProto, tensors: list[TensorProto]) -> bool:
    if any(entry.name == "reduction" and entry.s not in {b"", b"none"} for entry in node.attribute):
        return False
    if node.op_type in _SUMMED:
        return all(np.dtype(numpy_helper.to_array(tensor).dtype).itemsize >= _WIDE for tensor in tensors)
    return node.op_type in _FOLDED


def _evaluated(model: ModelProto, node: NodeProto, tensors: list[TensorProto]) -> dict[str, TensorProto] | None:
    """Work out a node, or return None where the reference cannot, or not in a dtype that numpy has."""
    if not all(dtype_name(t.data_type) and np.dtype(numpy_helper.to_array(t).dtype).kind in "fiub" for t in tensors):
        return None
    feeds = {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}
    outputs = [name for name in node.output if name]
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in tensors],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
    )
    with contextlib.suppress(Exception), np.errstate(all="ignore"):  # what it cannot work out is left for the framework
        one = helper.make_model(graph, opset_imports=list(model.opset_import), ir_version=model.ir_version)
        made = ReferenceEvaluator(one).run(None, feeds)
        return {name: numpy_helper.from_array(np.asarray(value)) for name, value in zip(outputs, made, strict=True)}
    return None


def _sizes(kind: TypeProto | None) -> tuple[int, ...] | None:
    if kind is None or not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    sizes = kind.tensor_type.shape.dim
    return tuple(s.dim_value for s in sizes) if all(s.HasField("dim_value") for s in sizes) else None


def _constant(node: NodeProto) -> TensorProto | None:
    """Return the tensor of a Constant node, or None where it holds text."""
    entry = next(iter(node.attribute), None)
    if entry is None or entry.ref_attr_name:
        return None
    if entry.type == AttributeProto.TENSOR:
        tensor = TensorProto()
        tensor.CopyFrom(entry.t)
        return tensor
    if entry.type == AttributeProto.SPARSE_TENSOR:
        return numpy_helper.from_array(_dense(entry.sparse_tensor))
    dtypes = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
    if entry.name not in dtypes:
        return None
    return numpy_helper.from_array(np.asarray(helper.get_attribute_value(entry), dtypes[entry.name]))


def _dense(sparse: Any) -> np.ndarray:
    values, places = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), values.dtype)
    if places.ndim == 1:
        dense.reshape(-1)[places] = values
    else:
        dense[tuple(places.T)] = values
    return dense


def _taken(node: NodeProto) -> Iterator[str]:
    """Yield what a node takes, and what the bodies in it take from outside or within."""
    yield from node.input
    for body in bodies(node):
        yield from (entry.name for entry in body.output)
        for inner in body.node:
            yield from _taken(inner)


def _rename(nodes: Iterable[NodeProto], names: dict[str, str]) -> None:
    """Let nodes, those of bodies too, take other tensors; a body that makes a name itself means its own."""
    for node in nodes:
        for place, name in enumerate(node.input):
            node.input[place] = names.get(name, name)
        for body in bodies(node):
            own = {*(e.name for e in body.input), *(t.name for t in body.initializer)}
            own |= {name for inner in body.node for name in inner.output}
            outside = {name: other for name, other in names.items() if name not in own}
            _rename(body.node, outside)
            for entry in body.output:
                entry.name = outside.get(entry.name, entry.name)


def _restate(graph: GraphProto, nodes: list[NodeProto]) -> None:
    kept = [_copy(node) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)


def _copy(node: NodeProto) -> NodeProto:
    copied = NodeProto()
    copied.CopyFrom(node)
    return copied

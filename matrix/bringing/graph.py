"""Questions that traps ask of an ONNX graph: who makes a tensor, who uses it and as what, and what its values are."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from onnx import AttributeProto, TensorProto, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray
    from onnx import GraphProto, ModelProto, NodeProto

FLOATING = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}

SCALES = {
    "BatchNormalization": (1, 2, 3, 4),
    "LayerNormalization": (1, 2),
    "RMSNormalization": (1,),
    "SimplifiedLayerNormalization": (1,),
    "InstanceNormalization": (1, 2),
    "GroupNormalization": (1, 2),
    "Conv": (2,),
    "ConvTranspose": (2,),
    "Gemm": (2,),
    "PRelu": (1,),
    "DeformConv": (3,),
    "LSTM": (3, 7),
    "GRU": (3,),
    "RNN": (3,),
    "Add": (0, 1),
    "Mul": (0, 1),
    "Sub": (0, 1),
    "Div": (0, 1),
}
"""Inputs that hold scales, biases and statistics."""

WEIGHTS = {
    "Conv": (1,),
    "ConvTranspose": (1,),
    "DeformConv": (1,),
    "MatMul": (0, 1),
    "Gemm": (0, 1),
    "Gather": (0,),
    "LSTM": (1, 2),
    "GRU": (1, 2),
    "RNN": (1, 2),
    "Einsum": (0, 1, 2, 3),
}
"""Inputs that hold matrices, kernels and tables."""

_MOVES = {"Transpose", "Reshape", "Identity", "Cast", "Squeeze", "Unsqueeze", "Flatten"}

_LOST = re.compile(r"((val|const|tmp|node|initializer|constant|kernel2d)_)?\d+|onnx::\w+_\d+|const_fold_opt__\d+")


@dataclass(frozen=True)
class Use:
    """One place where a tensor goes in: a node and the position of the input."""

    node: NodeProto
    position: int


class View:
    """A graph as its traps are looked for: the main graph's initializers, and every node, those of bodies too.

    Args:
        model: A model whose functions are inlined; it is not changed.
    """

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self.nodes = list(walk(model.graph))

    @cached_property
    def tensors(self) -> dict[str, TensorProto]:
        """Initializers by name."""
        return {tensor.name: tensor for tensor in self.model.graph.initializer}

    @cached_property
    def uses(self) -> dict[str, list[Use]]:
        """Where each initializer goes in, through nodes that only move values."""
        return {name: list(self.follow(name, _MOVES)) for name in self.tensors if name in self.direct}

    @cached_property
    def direct(self) -> dict[str, list[Use]]:
        """Where each tensor goes in."""
        found: dict[str, list[Use]] = defaultdict(list)
        for node in self.nodes:
            for position, name in enumerate(node.input):
                if name:
                    found[name].append(Use(node, position))
        return dict(found)

    @cached_property
    def makers(self) -> dict[str, NodeProto]:
        """The node that makes each tensor."""
        return {name: node for node in self.nodes for name in node.output if name}

    def weights(self) -> Iterator[str]:
        """Yield the floating-point initializers that are used as a weight."""
        for name, tensor in self.tensors.items():
            if tensor.data_type in FLOATING and any(fills(use, WEIGHTS) for use in self.uses.get(name, ())):
                yield name

    def scales(self) -> Iterator[str]:
        """Yield the floating-point initializers that are used as a scale or bias only, literals left out."""
        weights = set(self.weights())
        others = [name for name in self.tensors if name not in weights and size(self.tensors[name]) > 1]
        for name in [name for name in others if self.tensors[name].data_type in FLOATING]:
            if any(fills(use, SCALES) for use in self.uses.get(name, ())):
                yield name

    def values(self, name: str) -> NDArray[Any]:
        """Return an initializer's values."""
        return numpy_helper.to_array(self.tensors[name])

    def is_constant(self, name: str) -> bool:
        """Return whether an initializer has more than one element and all are equal."""
        if size(self.tensors[name]) <= 1:
            return False
        values = self.values(name)
        return bool((values == values.flat[0]).all())

    def follow(self, name: str, moves: Collection[str]) -> Iterator[Use]:
        """Yield where a tensor goes in, through any number of nodes of these operators, by their first input."""
        seen, waiting = {name}, list(reversed(self.direct.get(name, ())))
        while waiting:
            use = waiting.pop()
            if use.node.op_type not in moves or use.position != 0:
                yield use
            elif use.node.output[0] not in seen:
                seen.add(use.node.output[0])
                waiting.extend(reversed(self.direct.get(use.node.output[0], ())))


def walk(graph: GraphProto) -> Iterator[NodeProto]:
    """Yield the nodes of a graph and of every body in it."""
    for node in graph.node:
        yield node
        for entry in node.attribute:
            for body in [entry.g] if entry.type == AttributeProto.GRAPH else entry.graphs:
                yield from walk(body)


def fills(use: Use, slots: dict[str, tuple[int, ...]]) -> bool:
    """Return whether a tensor goes in at one of the listed inputs."""
    return use.position in slots.get(use.node.op_type, ())


def size(tensor: TensorProto) -> int:
    """Return the number of elements of a tensor."""
    return math.prod(tensor.dims)


def is_lost(name: str) -> bool:
    """Return whether a name is one that exporters invent, and not the name of a parameter."""
    return bool(_LOST.fullmatch(name))


def attribute(node: NodeProto, name: str, default: int) -> int:
    """Return an integer attribute of a node."""
    return next((int(entry.i) for entry in node.attribute if entry.name == name), default)

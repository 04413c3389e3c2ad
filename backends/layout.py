"""A program with its images channels last, for targets whose convolutions are faster so.

Operators on images become ones that say so in their name (`ConvLast`), element-wise operators between them stay what
they are, and an image is turned only where an operator needs it channels first. Kernels are kept in the order of the
new layout, so that no step turns them. The program computes the same function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .graph import Body, Node
from .seeded_dropout import OPERATOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .graph import Input
    from .program import Program

TO_LAST, TO_FIRST, KERNEL = (0, 2, 3, 1), (0, 3, 1, 2), (2, 3, 1, 0)
_IMAGE, _MATRIX = 4, 2
_SUFFIX = ":last"
# Operators of images with a form for channels last; the mean over an image has no image as its output.
_IMAGE_OPERATORS = frozenset({"BatchNormalization", "Conv", "GlobalAveragePool", "MaxPool"})
# Of one image, element by element; further inputs are single numbers.
_UNARY = frozenset(
    {
        *(
            "Abs",
            "Celu",
            "Clip",
            "Elu",
            "Erf",
            "Exp",
            "Gelu",
            "HardSigmoid",
            "HardSwish",
            "Identity",
            "LeakyRelu",
            "Log",
        ),
        *("Mish", "Neg", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Swish", "Tanh"),
    }
)
# Of images alone, element by element.
_BINARY = frozenset({"Add", "Div", "Max", "Mean", "Min", "Mul", "Sub", "Sum"})


@dataclass(frozen=True)
class Turned:
    """A program channels last.

    Attributes:
        program: The program; inputs, parameters and constants in `orders` have their axes in the new order.
        orders: For each of these, the old axis at each new place.
    """

    program: Program
    orders: Mapping[str, tuple[int, ...]]

    def into(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return arrays of the old program as the new one takes them."""
        return {
            name: np.ascontiguousarray(value.transpose(self.orders[name])) if name in self.orders else value
            for name, value in arrays.items()
        }

    def back(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return arrays of the new program as the old one has them."""
        return {
            name: np.ascontiguousarray(value.transpose(np.argsort(self.orders[name]))) if name in self.orders else value
            for name, value in arrays.items()
        }


def has_images(program: Program) -> bool:
    """Say whether a program has a convolution that can be channels last."""
    return any(_turnable(program, node) for node in program.nodes)


def as_it_is(program: Program) -> Turned:
    """Return a program in the layout it has."""
    return Turned(program, {})


def channels_last(program: Program) -> Turned:
    """Return a program with its images channels last, as far as operators allow."""
    return _Turner(program).turned()


def _turnable(program: Program, node: Node) -> bool:
    """Say whether a convolution is a plain one over images, whose kernel no other operator has."""
    if node.op != "Conv" or node.attributes.get("group", 1) != 1:
        return False
    held = {**program.constants, **program.parameters}.get(node.inputs[1])
    if held is None or held.ndim != _IMAGE or _is_dilated(node):
        return False
    return all(n.op == "Conv" and _uses(n).index(node.inputs[1]) for n in program.nodes if node.inputs[1] in _uses(n))


def _is_dilated(node: Node) -> bool:
    dilations = node.attributes.get("dilations")
    return isinstance(dilations, tuple) and any(size != 1 for size in dilations)


class _Turner:
    """Walks the nodes; `_last` names the tensors that are at hand channels last."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._turnable = {id(node) for node in program.nodes if _turnable(program, node)}
        self._last: set[str] = set()
        self._first = {*program.parameters, *program.constants, *program.state}
        self._orders: dict[str, tuple[int, ...]] = {}
        self._nodes: list[Node] = []

    def turned(self) -> Turned:
        self._take_inputs()
        for node in self._program.nodes:
            self._nodes.extend(self._node(node))
        wanted = (self._program.loss, *self._program.outputs, *self._program.updates.values())
        self._nodes.extend(step for name in wanted if name for step in self._as_first(name))
        return Turned(self._rebuilt(), self._orders)

    def _take_inputs(self) -> None:
        """Let images come channels last where only convolutions that can be so take them."""
        for entry in self._program.inputs:
            users = [node for node in self._program.nodes if entry.name in node.inputs]
            if len(entry.shape) == _IMAGE and users and all(id(node) in self._turnable for node in users):
                self._orders[entry.name] = TO_LAST
                self._last.add(entry.name)
            else:
                self._first.add(entry.name)

    def _rebuilt(self) -> Program:
        whole = Turned(self._program, self._orders)
        return replace(
            self._program,
            inputs=tuple(self._input(entry) for entry in self._program.inputs),
            nodes=tuple(self._nodes),
            parameters=whole.into(self._program.parameters),
            constants=whole.into(self._program.constants),
        )

    def _input(self, entry: Input) -> Input:
        order = self._orders.get(entry.name, tuple(range(len(entry.shape))))
        return replace(entry, shape=tuple(entry.shape[axis] for axis in order))

    def _node(self, node: Node) -> Iterator[Node]:
        if self._is_image_operator(node):
            yield from self._as_last(node.inputs[0])
            yield self._image_operator(node)
        elif self._is_element_wise(node):
            yield from (step for name in self._images(node) for step in self._as_last(name))
            yield self._element_wise(node)
        else:
            yield from (step for name in _uses(node) for step in self._as_first(name))
            yield node
            self._first.update(filter(None, node.outputs))

    def _is_image_operator(self, node: Node) -> bool:
        if node.op == "Conv":
            return id(node) in self._turnable
        if node.op not in _IMAGE_OPERATORS or node.inputs[0] not in self._last:
            return False
        indices = node.op == "MaxPool" and any(node.outputs[1:])
        return not (_is_dilated(node) or node.attributes.get("ceil_mode", 0) or indices)

    def _image_operator(self, node: Node) -> Node:
        if node.op == "Conv":
            self._orders[node.inputs[1]] = KERNEL
        image, *rest = node.outputs
        whole = node.op == "GlobalAveragePool"
        (self._first if whole else self._last).add(image)
        self._first.update(filter(None, rest))
        inputs = (_place(node.inputs[0], self._orders), *node.inputs[1:])
        return Node(f"{node.op}Last", inputs, (image if whole else image + _SUFFIX, *rest), node.attributes)

    def _is_element_wise(self, node: Node) -> bool:
        if _is_unary(node):
            return node.inputs[0] in self._last
        images = node.op in _BINARY or (node.op == "Concat" and node.attributes["axis"] in (1, 1 - _IMAGE))
        return images and all(name in self._last for name in node.inputs)

    def _images(self, node: Node) -> tuple[str, ...]:
        return node.inputs[:1] if _is_unary(node) else node.inputs

    def _element_wise(self, node: Node) -> Node:
        (image,) = node.outputs
        self._last.add(image)
        images = self._images(node)
        inputs = (*(_place(name, self._orders) for name in images), *node.inputs[len(images) :])
        attributes = {**node.attributes, "axis": _IMAGE - 1} if node.op == "Concat" else node.attributes
        return replace(node, inputs=inputs, outputs=(image + _SUFFIX,), attributes=attributes)

    def _as_last(self, name: str) -> Iterator[Node]:
        if name not in self._last:
            self._last.add(name)
            yield Node("Transpose", (name,), (name + _SUFFIX,), {"perm": TO_LAST})

    def _as_first(self, name: str) -> Iterator[Node]:
        if name in self._last and name not in self._first:
            self._first.add(name)
            yield Node("Transpose", (_place(name, self._orders),), (name,), {"perm": TO_FIRST})


def _is_unary(node: Node) -> bool:
    """Say whether a node works on one image, element by element; dropout of whole samples does."""
    return node.op in _UNARY or (node.op == OPERATOR and bool(node.attributes["rows"]))


def _place(name: str, orders: Mapping[str, tuple[int, ...]]) -> str:
    """Return the name that a tensor goes by channels last; an input that comes so keeps its own."""
    return name if name in orders else name + _SUFFIX


def _uses(node: Node) -> list[str]:
    """Return what a node takes, in its bodies too."""
    bodies = [value for value in node.attributes.values() if isinstance(value, Body)]
    inside = [name for body in bodies for step in body.nodes for name in _uses(step)]
    return [name for name in (*node.inputs, *inside, *(o for body in bodies for o in body.outputs)) if name]


def right_factors(program: Program) -> frozenset[str]:
    """Return the parameters that are matrices and only ever stand on the right of a product, as they are.

    A library of matrix products reads such a matrix faster column by column, which is how a linear layer that keeps
    `(out, in)` has it.
    """
    found = {name for name, value in program.parameters.items() if value.ndim == _MATRIX}
    for node in program.nodes:
        plain = node.op == "MatMul" or (node.op == "Gemm" and not node.attributes.get("transB", 0))
        kept = node.inputs[1] if plain and node.inputs.count(node.inputs[1]) == 1 else ""
        found.difference_update(name for name in _uses(node) if name != kept)
    return frozenset(found.difference((program.loss, *program.outputs, *program.updates.values())))

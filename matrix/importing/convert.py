"""From a prepared ONNX graph to a program: names made unique, attributes read, initial tensors taken over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onnx import AttributeProto

from ...backends.differentiating import with_bodies
from ...backends.errors import UnsupportedError
from ...backends.program import Body, Input, Node, Program
from ...backends.values import Narrow
from .roles import Roles
from .tensors import dtype_name, read_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto


def to_program(
    model: ModelProto,
    roles: Roles | None = None,
    outputs: Sequence[str] | None = None,
    aside: Mapping[str, TensorProto] | None = None,
) -> Program:
    """Return a model as a program without a loss.

    Args:
        model: A model of operator set `program.OPSET` with concrete input shapes.
        roles: What is trained and what each step replaces; every initial tensor is a constant if not given.
        outputs: The outputs that count; all of the graph's if not given.
        aside: Initializers that were put aside and stand among the model's inputs.

    Raises:
        InputError: A tensor is damaged.
        UnsupportedError: An attribute is of a kind that no program holds.
    """
    graph, scope, roles = model.graph, _Scope(), roles or Roles()
    nodes = with_bodies(scope.nodes(graph, (aside or {}).values()))
    held = {*roles.trained, *roles.updates}
    return Program(
        name=graph.name,
        inputs=tuple(_input(entry) for entry in graph.input if entry.name not in scope.constants),
        nodes=nodes,
        loss="",
        parameters={name: scope.constants[name] for name in roles.trained if name in scope.constants},
        constants={name: value for name, value in scope.constants.items() if name not in held},
        outputs=tuple(entry.name for entry in graph.output) if outputs is None else tuple(outputs),
        state={name: scope.constants[name] for name in roles.updates if name in scope.constants},
        updates={name: made for name, made in roles.updates.items() if name in scope.constants},
        narrow=scope.narrow,
    )


@dataclass
class _Scope:
    """The names of one graph on the way; those of graphs around it are looked up in `outer`."""

    taken: set[str] = field(default_factory=set)
    constants: dict[str, Any] = field(default_factory=dict)
    narrow: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def below(self) -> _Scope:
        return _Scope(self.taken, self.constants, self.narrow, dict(self.names))

    def define(self, name: str) -> str:
        unique, count = name, 0
        while unique in self.taken:
            count += 1
            unique = f"{name}.{count}"
        self.taken.add(unique)
        self.names[name] = unique
        return unique

    def nodes(self, graph: GraphProto, aside: Iterable[TensorProto] = ()) -> tuple[Node, ...]:
        for tensor in (*graph.initializer, *aside):
            self._keep(self.define(tensor.name), read_tensor(tensor))
        for entry in graph.input:
            if entry.name not in self.names:
                self.define(entry.name)
        return tuple(self._node(node) for node in graph.node)

    def _keep(self, name: str, value: Any) -> None:
        if isinstance(value, Narrow):
            self.narrow[name] = value.dtype
            value = value.values
        self.constants[name] = value

    def _node(self, node: NodeProto) -> Node:
        inputs = tuple(self.names[name] if name else "" for name in node.input)
        # Programs have no types to state: a type attribute says what an empty optional would hold.
        stated = (entry for entry in node.attribute if entry.type != AttributeProto.TYPE_PROTO)
        attributes = {entry.name: self._attribute(node, entry) for entry in stated}
        outputs = tuple(self.define(name) if name else "" for name in node.output)
        return Node(node.op_type, inputs, outputs, attributes)

    def _attribute(self, node: NodeProto, entry: AttributeProto) -> Any:
        if entry.type == AttributeProto.GRAPH:
            return self._body(entry.g)
        if entry.type in _PLAIN:
            return _PLAIN[entry.type](entry)
        kind = AttributeProto.AttributeType.Name(entry.type).lower()
        raise UnsupportedError(f"{node.op_type} ({node.name or node.output[0]}): attribute {entry.name} is a {kind}")

    def _body(self, graph: GraphProto) -> Body:
        inside = self.below()
        for entry in graph.input:
            inside.define(entry.name)
        nodes = inside.nodes_of_body(graph)
        names = (tuple(inside.names[entry.name] for entry in part) for part in (graph.input, graph.output))
        inputs, outputs = names
        return Body(inputs, nodes, outputs)

    def nodes_of_body(self, graph: GraphProto) -> tuple[Node, ...]:
        for tensor in graph.initializer:
            self._keep(self.define(tensor.name), read_tensor(tensor))
        return tuple(self._node(node) for node in graph.node)


def _tensor_attribute(entry: AttributeProto) -> Any:
    value = read_tensor(entry.t)
    return value.values if isinstance(value, Narrow) else value


_PLAIN: Mapping[int, Any] = {
    AttributeProto.FLOAT: lambda entry: float(entry.f),
    AttributeProto.INT: lambda entry: int(entry.i),
    AttributeProto.STRING: lambda entry: entry.s.decode(),
    AttributeProto.TENSOR: _tensor_attribute,
    AttributeProto.FLOATS: lambda entry: tuple(entry.floats),
    AttributeProto.INTS: lambda entry: tuple(entry.ints),
    AttributeProto.STRINGS: lambda entry: tuple(text.decode() for text in entry.strings),
}


def _input(entry: ValueInfoProto) -> Input:
    tensor = entry.type.tensor_type
    shape = tuple(size.dim_value for size in tensor.shape.dim)
    return Input(entry.name, dtype_name(tensor.elem_type), shape)

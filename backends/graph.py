"""The parts of a program's graph, and their form in JSON."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

Attribute = Union[int, float, str, "tuple[Any, ...]", np.ndarray, "Body"]


@dataclass(frozen=True)
class Node:
    """One operator application.

    Attributes:
        op: ONNX operator name, such as `MatMul`.
        inputs: Tensor names; an empty name stands for an absent optional input.
        outputs: Tensor names; an empty name stands for an output that nobody wants.
        attributes: ONNX attributes by name; a missing one has the operator's default. Lists are tuples, tensors numpy
            arrays, graphs a `Body`.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True)
class Body:
    """The graph inside a node of control flow.

    Names are unique over the whole program: a name that the body does not make is looked up outside, and a body's own
    initial tensors are among the program's constants.

    Attributes:
        inputs: Names of the tensors that the node feeds.
        nodes: Operators in order.
        outputs: Names of the tensors that the node takes out.
    """

    inputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    def source(self, output: int) -> str | np.ndarray:
        """Return what an output is, seen through nodes that change nothing: a tensor's name, or a constant's value."""
        made = {node.outputs[0]: node for node in self.nodes if node.outputs}
        name = self.outputs[output]
        while name in made and made[name].op == "Identity":
            name = made[name].inputs[0]
        value = made[name].attributes.get("value") if name in made and made[name].op == "Constant" else None
        return value if isinstance(value, np.ndarray) else name


@dataclass(frozen=True)
class Input:
    """A tensor fed at each step.

    Attributes:
        name: Its name.
        dtype: Numpy's name of its dtype, or a key of `values.CARRIERS`.
        shape: Its sizes.
        bound: Integers of it are at least 0 and below this; 0 where that is not known.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    bound: int = 0


def node_to_json(node: Node) -> dict[str, Any]:
    """Return a node as JSON-ready values."""
    return {
        "op": node.op,
        "inputs": list(node.inputs),
        "outputs": list(node.outputs),
        "attributes": {key: _to_json(value) for key, value in node.attributes.items()},
    }


def node_from_json(entry: Mapping[str, Any]) -> Node:
    """Read back what `node_to_json` made."""
    attributes = {key: _from_json(value) for key, value in entry["attributes"].items()}
    return Node(entry["op"], tuple(entry["inputs"]), tuple(entry["outputs"]), attributes)


def _to_json(value: Attribute) -> Any:
    if isinstance(value, Body):
        nodes = [node_to_json(node) for node in value.nodes]
        return {"body": {"inputs": list(value.inputs), "nodes": nodes, "outputs": list(value.outputs)}}
    if isinstance(value, np.ndarray):
        little = np.asarray(value, order="C").astype(value.dtype.newbyteorder("<"), copy=False)
        data = base64.b64encode(little.tobytes()).decode()
        return {"tensor": {"dtype": value.dtype.name, "shape": list(value.shape), "data": data}}
    return list(value) if isinstance(value, tuple) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, dict):
        return value
    if "body" in value:
        body = value["body"]
        nodes = tuple(node_from_json(entry) for entry in body["nodes"])
        return Body(tuple(body["inputs"]), nodes, tuple(body["outputs"]))
    tensor = value["tensor"]
    flat = np.frombuffer(base64.b64decode(tensor["data"]), np.dtype(tensor["dtype"]).newbyteorder("<"))
    return flat.astype(tensor["dtype"]).reshape(tensor["shape"])

"""The program: a graph of ONNX-semantics operators with its initial tensors.

A program is neutral between frameworks and needs only numpy to read. Operators keep the meaning of the ONNX operator
set `OPSET`; floating-point tensors are float32 and are widened as a whole when a run asks for float64 (including the
`stash_type` of the normalisations), so that a float64 run computes the same real-number function.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .graph import Body, Input, Node, node_from_json, node_to_json
from .npz import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OPSET", "Body", "Input", "Node", "Program", "dump", "load", "tensors_digest"]

OPSET = 28
SCHEMA_VERSION = 2

# The key of a program's tensors in its file, and the field that holds them.
_ROLES = {"parameter": "parameters", "constant": "constants", "state": "state"}


@dataclass(frozen=True)
class Program:
    """A training program: its `loss` output is a scalar to be minimised over `parameters`.

    Attributes:
        name: The spec's name.
        inputs: What a batch holds.
        nodes: Operators in an order in which each input is made before it is used.
        loss: Name of the scalar to minimise; empty for a program that is only evaluated.
        parameters: Trainable initial tensors by name, float32, in a fixed order.
        constants: Other tensors by name: float32 tables, int64 shapes and axes.
        outputs: Names of further tensors of interest, such as `logits`.
        state: Initial tensors that no gradient changes and each step replaces, such as running means.
        updates: For each name in `state` the tensor that replaces it after a step.
        narrow: The dtype of each parameter or constant that is carried by a wider one; see `values.CARRIERS`.
        convention: Whose names and layouts parameters and state have, such as `torch`; empty where that is not known.
    """

    name: str
    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    loss: str
    parameters: Mapping[str, np.ndarray]
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    state: Mapping[str, np.ndarray] = field(default_factory=dict)
    updates: Mapping[str, str] = field(default_factory=dict)
    narrow: Mapping[str, str] = field(default_factory=dict)
    convention: str = ""

    @property
    def digest(self) -> str:
        """Return the SHA-256 over graph and tensors, in hexadecimal; name and convention are left out."""
        state = hashlib.sha256(json.dumps(_graph(self), sort_keys=True, separators=(",", ":")).encode())
        for tensors in (self.parameters, self.constants, self.state):
            state.update(tensors_digest(tensors).encode())
        return state.hexdigest()


def tensors_digest(tensors: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 over names, dtypes, shapes and little-endian bytes of tensors, sorted by name."""
    state = hashlib.sha256()
    for name in sorted(tensors):
        array = np.asarray(tensors[name], order="C")
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        state.update(f"{name}\0{array.dtype.name}\0{array.shape}\0".encode())
        state.update(little.tobytes())
    return state.hexdigest()


def _graph(program: Program) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "opset": OPSET,
        "inputs": [{**asdict(entry), "shape": list(entry.shape)} for entry in program.inputs],
        "nodes": [node_to_json(node) for node in program.nodes],
        "loss": program.loss,
        "parameters": list(program.parameters),
        "constants": list(program.constants),
        "outputs": list(program.outputs),
        "state": list(program.state),
        "updates": dict(program.updates),
        "narrow": dict(program.narrow),
    }


def dump(program: Program) -> bytes:
    """Return the program as one `.npz` file's bytes: the graph as JSON and each tensor under its role and name."""
    more = {"convention": program.convention} if program.convention else {}
    graph = json.dumps({"name": program.name, **more, **_graph(program)}, sort_keys=True)
    arrays: dict[str, np.ndarray] = {"graph": np.frombuffer(graph.encode(), dtype=np.uint8)}
    for role, held in _ROLES.items():
        arrays.update({f"{role}/{name}": value for name, value in getattr(program, held).items()})
    return pack(arrays)


def load(content: bytes) -> Program:
    """Read back what `dump` wrote.

    Raises:
        ValueError: The bytes are no program, or one of another schema version.
    """
    try:
        arrays = unpack(content)
    except ValueError as error:
        raise ValueError(f"these bytes are no program: {error}") from error
    if "graph" not in arrays:
        raise ValueError("these bytes are no program: the file has no graph")
    graph = json.loads(arrays["graph"].tobytes())
    if graph["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"program schema {graph['schema_version']}, this version reads {SCHEMA_VERSION}")
    tensors = {field: {name: arrays[f"{role}/{name}"] for name in graph[field]} for role, field in _ROLES.items()}
    return Program(
        name=graph["name"],
        inputs=tuple(Input(**{**entry, "shape": tuple(entry["shape"])}) for entry in graph["inputs"]),
        nodes=tuple(node_from_json(entry) for entry in graph["nodes"]),
        loss=graph["loss"],
        outputs=tuple(graph["outputs"]),
        updates=graph["updates"],
        narrow=graph["narrow"],
        convention=graph.get("convention", ""),
        **tensors,
    )

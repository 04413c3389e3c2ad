"""What is known of the model that a graph was exported from: written into the ONNX file, and read back.

It lies in the model's metadata under `KEY`, as JSON. For files that stackproof did not write, `torch_origin.py` reads
what PyTorch's own exporter left behind.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ...backends.errors import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import ModelProto

KEY = "stackproof.origin"
SCHEMA_VERSION = 1

Role = Literal["parameter", "frozen", "buffer"]


@dataclass(frozen=True)
class Tensor:
    """One named tensor of the original model.

    Attributes:
        name: Its name there, which is its initializer's name in the graph.
        shape: Its shape there; None where that is not known.
        dtype: Its dtype as ONNX calls it, such as `FLOAT`; empty where that is not known.
        role: `parameter`: trained; `frozen`: a parameter that is not; `buffer`: neither, such as a running mean.
        tied: Other names of the same tensor.
        used: Whether the model's output depends on it; if not, it is not in the graph.
    """

    name: str
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    role: Role = "parameter"
    tied: tuple[str, ...] = ()
    used: bool = True


@dataclass(frozen=True)
class Origin:
    """The model that a graph was exported from.

    Attributes:
        source: What it was exported with, such as `torch 2.13.0`.
        tensors: Every parameter and buffer; empty where they are not known.
        exact: Whether `used` and `tied` are known of each tensor.
        batch_norms: Names of the running means whose batch norm normalises by the batch when it trains.
        dropouts: Rate of every active dropout layer, by the layer's name.
        updates: State to the graph output that replaces it after each step, where operators alone do not say so.
        tied: Groups of initializers that the user declares to be one parameter.
        independent: Initializers that the user declares not to be shared, or not to be tied.
        accepted: Traps that the user wants to live with.
    """

    source: str = ""
    tensors: tuple[Tensor, ...] = ()
    exact: bool = True
    batch_norms: tuple[str, ...] = ()
    dropouts: Mapping[str, float] = field(default_factory=dict)
    updates: Mapping[str, str] = field(default_factory=dict)
    tied: tuple[tuple[str, ...], ...] = ()
    independent: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()


def write_origin(model: ModelProto, origin: Origin) -> None:
    """Put an origin into a model's metadata, in place of the one there."""
    text = json.dumps({"schema_version": SCHEMA_VERSION, **asdict(origin)}, sort_keys=True)
    others = [(entry.key, entry.value) for entry in model.metadata_props if entry.key != KEY]
    del model.metadata_props[:]
    for key, value in [*others, (KEY, text)]:
        model.metadata_props.add(key=key, value=value)


def read_origin(model: ModelProto) -> Origin | None:
    """Return what `write_origin` put into a model, or None.

    Raises:
        InputError: There is something, but not what this version writes.
    """
    texts = [entry.value for entry in model.metadata_props if entry.key == KEY]
    if not texts:
        return None
    try:
        return _from_dict(json.loads(texts[-1]))
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        what = f"not what this version writes ({fault}): export the model again"
        raise InputError("the ONNX model", [Fault(f"metadata {KEY}", what)]) from fault


def _from_dict(entry: dict[str, Any]) -> Origin:
    version = entry.pop("schema_version", None)
    if version != SCHEMA_VERSION:
        raise ValueError(f"schema version {version}, this version reads {SCHEMA_VERSION}")
    tensors = tuple(_tensor(value) for value in entry.pop("tensors"))
    groups = tuple(tuple(group) for group in entry.pop("tied"))
    lists: dict[str, Any] = {key: tuple(entry.pop(key)) for key in ("batch_norms", "independent", "accepted")}
    return Origin(tensors=tensors, tied=groups, **lists, **entry)


def _tensor(entry: dict[str, Any]) -> Tensor:
    shape = None if entry["shape"] is None else tuple(entry["shape"])
    return Tensor(**{**entry, "shape": shape, "tied": tuple(entry["tied"])})

"""What PyTorch's own exporter leaves behind in a file: the names of the model's tensors, and which ones each node uses.

Its metadata hold the signature of the exported program, and for every node the call that it was made from, such as

    %linear : ... call_function[target=torch.ops.aten.linear.default](args = (%x, %p_head_weight), kwargs = {})

A tied tensor has one name in all calls, so what a node ought to use is known even after an optimizer has merged,
copied, transposed or renamed it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .origin import Origin, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from onnx import ModelProto, NodeProto, StringStringEntryProto

    from .origin import Role

SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
CALL = "pkg.torch.onnx.fx_node"
TRACE = "pkg.torch.onnx.stack_trace"
REWRITE = "pkg.onnxscript.rewriter.rule_name"

_ENTRY = re.compile(r"^(\w+): (PARAMETER|BUFFER|BUFFER_MUTATION) target='([^']+)'", re.MULTILINE)
_MENTION = re.compile(r"%(\w+)")
_ROLES: Mapping[str, Role] = {"PARAMETER": "parameter", "BUFFER": "buffer"}
_MEAN = ".running_mean"
_DROPOUTS = (
    re.compile(r"%(\w+) :.*aten\.native_dropout\.default\]\(args = \(%\w+, ([\d.e-]+), True\)"),
    re.compile(r"%(\w+) :.*aten\.scaled_dot_product_attention\.default\]\(args = \((?:[%\w]+, ){4}([\d.e-]+)"),
)


@dataclass(frozen=True)
class Call:
    """The nodes that were made from one call, in the graph's order.

    Attributes:
        text: The call as the exporter wrote it down.
        nodes: What it became.
        names: The model's tensors that it uses, in the order of its arguments.
    """

    text: str
    nodes: tuple[NodeProto, ...]
    names: tuple[str, ...]


def read_torch_origin(model: ModelProto) -> Origin | None:
    """Return what PyTorch's exporter wrote into a model, or None; shapes are not among it."""
    signature = _signature(model)
    roles = {target: _ROLES[kind] for _, kind, target in signature if kind in _ROLES}
    if not roles:
        return None
    used = {name for call in calls(model) for name in call.names} | {entry.name for entry in model.graph.initializer}
    tensors = tuple(Tensor(name, role=role, used=name in used) for name, role in roles.items())
    mutated = {target for _, kind, target in signature if kind == "BUFFER_MUTATION"}
    means = tuple(sorted(name for name in mutated if f".{name}".endswith(_MEAN)))
    source = f"{model.producer_name} {model.producer_version}"
    return Origin(source, tensors, exact=False, batch_norms=means, dropouts=called_dropouts(model))


def calls(model: ModelProto) -> list[Call]:
    """Return the calls that a model's nodes were made from; those that use none of the model's tensors are left out."""
    targets = {place: target for place, kind, target in _signature(model) if kind in _ROLES}
    grouped: dict[str, list[NodeProto]] = defaultdict(list)
    for node in model.graph.node:
        grouped[_call(node)].append(node)
    found = (Call(text, tuple(nodes), tuple(_mentioned(text, targets))) for text, nodes in grouped.items())
    return [call for call in found if call.names]


def arguments(model: ModelProto) -> set[str]:
    """Return the names of all tensors that calls of a model take, as the exported program names them."""
    return {name for node in model.graph.node for name in _MENTION.findall(_call(node).partition("(args")[2])}


def rewritten(node: NodeProto) -> str:
    """Return the name of the optimization that made a node, or an empty string."""
    return _property(node.metadata_props, REWRITE)


def called_dropouts(model: ModelProto) -> dict[str, float]:
    """Return the rate of every dropout that a model was exported with, attention's too, by its name in the program."""
    texts = {_call(node) for node in model.graph.node}
    found = (match.groups() for text in texts for form in _DROPOUTS if (match := form.search(text)))
    return {name: float(rate) for name, rate in sorted(found) if float(rate) > 0}


def _signature(model: ModelProto) -> list[tuple[str, str, str]]:
    places = [*model.graph.metadata_props, *model.metadata_props]
    return [(place, kind, target) for place, kind, target in _ENTRY.findall(_property(places, SIGNATURE))]


def _call(node: NodeProto) -> str:
    return _property(node.metadata_props, CALL)


def _mentioned(text: str, targets: Mapping[str, str]) -> Iterator[str]:
    seen: set[str] = set()
    for place in _MENTION.findall(text):
        if place in targets and targets[place] not in seen:
            seen.add(targets[place])
            yield targets[place]


def _property(entries: Iterable[StringStringEntryProto], key: str) -> str:
    return next((str(entry.value) for entry in entries if entry.key == key), "")

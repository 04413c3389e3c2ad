"""Traps that can be undone since the file says which tensor of the model each node was made to use.

An optimizer may have merged tensors of equal values, copied and transposed a tied one, or folded a transposition away
with the name. In each case a node uses another tensor than its call names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .graph import FLOATING, Use, size
from .torch_origin import Call, calls, rewritten
from .trap import Trap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import NodeProto

    from .graph import View
    from .origin import Origin
    from .trap import Severity

MERGED = "parameters-merged"
COPIED = "tied-duplicated"
LOST = "name-lost"

ASK = "say which with `declare`: `tied` where it is one parameter, `independent` where they are several"

_TURNED = ("MatMul", "Gemm")


@dataclass(frozen=True)
class _Exchange:
    """A tensor that a node uses at one input, and the one that its call names."""

    use: Use
    used: str
    named: str
    transposed: bool


def find_exchanged(view: View, origin: Origin) -> Iterator[Trap]:
    """Yield every tensor that stands for another, with the node where it does."""
    aliases = {alias: tensor.name for tensor in origin.tensors for alias in tensor.tied}
    for call in calls(view.model):
        if not any(rewritten(node).startswith("FuseBatchNorm") for node in call.nodes):
            names = tuple(dict.fromkeys(aliases.get(name, name) for name in call.names))
            for exchange in _exchanges(view, replace(call, names=names)):
                yield _trap(view, exchange, origin)


def _exchanges(view: View, call: Call) -> Iterator[_Exchange]:
    places = list(_places(view, call))
    names = [use.node.input[use.position] for use in places]
    if set(call.names) <= set(names) or len(names) != len(call.names):
        return
    for use, used, named in zip(places, names, call.names, strict=True):
        if used != named:
            yield _Exchange(use, used, named, _is_transposed(call, use.node))


def _places(view: View, call: Call) -> Iterator[Use]:
    """Yield where the nodes of a call take initial tensors, literals left out."""
    for node in call.nodes:
        for position, name in enumerate(node.input):
            tensor = view.tensors.get(name)
            if tensor is not None and tensor.data_type in FLOATING and size(tensor) > 1:
                yield Use(node, position)


def _is_transposed(call: Call, node: NodeProto) -> bool:
    """Return whether the model holds the weight the other way round: `linear` transposes it, and that was folded."""
    return "aten.linear." in call.text and node.op_type in _TURNED and not _turns(node)


def _turns(node: NodeProto) -> bool:
    return any(entry.name == "transB" and entry.i for entry in node.attribute)


def _trap(view: View, exchange: _Exchange, origin: Origin) -> Trap:
    used, named = exchange.used, exchange.named
    way = ", transposed" if exchange.transposed else ""
    if named in view.tensors:
        return _copied(view, exchange, way)
    if used in _names(view):
        return _merged(view, exchange, origin)
    what = f"{named} had lost its name and was called {used}{way}: it has its name and shape again"
    return _made(LOST, "mended", what, exchange)


def _copied(view: View, exchange: _Exchange, way: str) -> Trap:
    used, named = exchange.used, exchange.named
    if not _same(view, exchange):
        what = f"{used} stands where the model uses {named}, with other values"
        return _made(COPIED, "refused", f"{what}: export the model again, without an optimizer", exchange)
    what = f"{used} is a copy{way} of {named}, to which it is tied in the model: it is one parameter again"
    return _made(COPIED, "mended", what, exchange)


def _merged(view: View, exchange: _Exchange, origin: Origin) -> Trap:
    used, named = exchange.used, exchange.named
    if view.is_constant(used) or used in origin.independent:
        what = f"{named} was merged into {used}, since both had equal values: it is a tensor of its own again"
        return _made(MERGED, "mended", what, exchange)
    what = f"{used} stands where the model uses {named}: tied in the model, or merged since they began alike"
    severity: Severity = "noted" if any(used in group for group in origin.tied) else "refused"
    return _made(MERGED, severity, f"{what}; {ASK}", exchange)


def _made(name: str, severity: Severity, what: str, exchange: _Exchange) -> Trap:
    nodes, tensors = (exchange.use.node.output[0],), (exchange.used, exchange.named)
    return Trap(name, severity, what, nodes, tensors, exchange.transposed, exchange.use.position)


def _names(view: View) -> set[str]:
    return {name for call in calls(view.model) for name in call.names}


def _same(view: View, exchange: _Exchange) -> bool:
    one, other = view.values(exchange.used), view.values(exchange.named)
    return bool(np.array_equal(one.T if exchange.transposed else one, other))

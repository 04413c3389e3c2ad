"""Traps of parameters that the model had and the graph has not: folded into others, or optimized away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .graph import FLOATING
from .torch_origin import arguments, rewritten
from .trap import Trap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from .graph import View
    from .origin import Origin, Tensor

FOLDED = "batch-norm-folded"
MISSING = "parameter-missing"
FROZEN = "frozen-by-tf2onnx"
UNUSED = "parameter-unused"
SHAPE = "shape-changed"

AGAIN = "export the model again in training mode and without an optimizer, as stackproof.matrix.bringing does"

_FOLDED_NAME = re.compile(r"onnx::Conv(Transpose)?_\d+")


def find_folded(view: View, origin: Origin | None) -> Iterator[Trap]:
    """Yield convolutions, and other layers, that a batch norm was folded into."""
    norms = {name.rpartition(".")[0] for name in _names(origin) if name.endswith("running_mean")}
    absent = _absent(view, origin)
    folded = {norm for norm in norms if f"{norm}.weight" in absent}
    gone = sorted(name for name in absent if name.rpartition(".")[0] in folded)
    nodes = [node for node in view.nodes if _is_folded(view, node.op_type, node.input) or _is_fused(rewritten(node))]
    if gone or nodes:
        places = tuple(node.output[0] for node in nodes)
        where = ", ".join(gone or places)
        what = f"a batch norm was folded into the layer before it ({where}) and would not train"
        yield Trap(FOLDED, "refused", f"{what}; {AGAIN}", places, tuple(gone))


def find_frozen(view: View, origin: Origin | None) -> Iterator[Trap]:
    """Yield that tf2onnx made a graph of a model whose variables it knew: it folds batch norms, and leaves no trace."""
    if view.model.producer_name == "tf2onnx" and not (origin and origin.tensors):
        what = (
            "tf2onnx folds batch norms into other layers and takes out biases of zero, and the file says nothing of it"
        )
        yield Trap(FROZEN, "refused", f"{what}: export the model with stackproof.matrix.bringing, which keeps them")


def find_missing(view: View, origin: Origin | None, restored: Collection[str]) -> Iterator[Trap]:
    """Yield parameters that the model has and the graph has not.

    Args:
        view: The graph.
        origin: What is known of the model.
        restored: Names that other traps bring back.
    """
    folded = _folded(view, origin, restored)
    for tensor in origin.tensors if origin else ():
        if tensor.name in view.tensors:
            yield from _changed(view, tensor)
        elif tensor.name in restored or tensor.role == "buffer":
            continue
        elif tensor.used:
            what = f"the model has {tensor.name} and the graph has not: an optimizer took it out"
            yield Trap(MISSING, "refused", f"{what}; {AGAIN}", tensors=(tensor.name,))
        elif folded:
            what = f"nothing uses the model's parameter {tensor.name}, and {', '.join(folded)} was computed beforehand"
            yield Trap(MISSING, "refused", f"{what}, of it maybe; {AGAIN}", tensors=(tensor.name,))
        else:
            what = f"nothing uses the model's parameter {tensor.name} by this name: tied to another, or not needed"
            yield Trap(UNUSED, "noted", what, tensors=(tensor.name,))


def _folded(view: View, origin: Origin | None, restored: Collection[str]) -> list[str]:
    """Return tensors that were computed when the model was exported, where it is not known what of."""
    if origin is None or origin.exact:
        return []
    known = {tensor.name for tensor in origin.tensors} | set(restored)
    floating = [name for name, tensor in view.tensors.items() if tensor.data_type in FLOATING and name not in known]
    return sorted(set(floating) & arguments(view.model))


def _changed(view: View, tensor: Tensor) -> Iterator[Trap]:
    shape = tuple(view.tensors[tensor.name].dims)
    if tensor.shape is not None and shape != tensor.shape:
        what = f"parameter {tensor.name} has shape {list(shape)} in the graph and {list(tensor.shape)} in the model"
        yield Trap(SHAPE, "refused", f"{what}; {AGAIN}", tensors=(tensor.name,))


def _absent(view: View, origin: Origin | None) -> set[str]:
    return _names(origin) - set(view.tensors)


def _names(origin: Origin | None) -> set[str]:
    return {tensor.name for tensor in origin.tensors if tensor.used} if origin else set()


def _is_folded(view: View, op: str, inputs: Collection[str]) -> bool:
    """Return whether a convolution's kernel has a name that PyTorch's older exporter gives to folded ones only."""
    return op.startswith("Conv") and any(_FOLDED_NAME.fullmatch(name) and name in view.tensors for name in inputs)


def _is_fused(rule: str) -> bool:
    return rule.startswith("FuseBatchNorm")

"""Traps of layers that train in another way than they infer: batch norms and dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto, helper, numpy_helper

from .graph import attribute
from .trap import Trap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from onnx import ModelProto, NodeProto

    from .graph import View
    from .origin import Origin

BATCH_NORM = "batch-norm-inference"
DROPOUT = "dropout-inference"
DROPPED = "dropout-dropped"

_ON = "stackproof.training"
_RATE = "stackproof.half"

MEAN = 3
"""The input of a batch norm that holds its running mean."""

FLAG = 2
"""The input of a dropout that says whether it trains."""


def find_batch_norms(view: View, origin: Origin | None, means: Mapping[str, str]) -> Iterator[Trap]:
    """Yield batch norms that normalise by their running statistics, which a training model does not.

    Args:
        view: The graph.
        origin: What is known of the model.
        means: Running means that nodes get back by other traps, by the node's first output.
    """
    for node in view.nodes:
        if node.op_type == "BatchNormalization" and not attribute(node, "training_mode", 0) and _has_state(view, node):
            yield _batch_norm(node, means.get(node.output[0], node.input[MEAN]), origin)


def find_dropouts(view: View, origin: Origin | None) -> Iterator[Trap]:
    """Yield dropout that does nothing, and dropout that the model had and the graph has not."""
    idle = [node for node in view.nodes if node.op_type == "Dropout" and not _drops(view, node)]
    active = [node for node in view.nodes if node.op_type == "Dropout" and _drops(view, node)]
    wanted = dict(origin.dropouts) if origin else {}
    for node in idle:
        yield _idle_dropout(node, known=bool(wanted))
    if len(wanted) > len(idle) + len(active):
        rates = ", ".join(f"{name} ({rate:g})" for name, rate in wanted.items())
        what = f"the model drops out in {rates}, and the graph has {len(idle) + len(active)} Dropout nodes for it"
        how = "export it again in training mode, without an optimizer; or declare the trap accepted to train without"
        yield Trap(DROPPED, "refused", f"{what}: {how}", tensors=tuple(wanted))


def train_batch_norms(model: ModelProto, nodes: Collection[str]) -> None:
    """Have batch norms normalise by the batch, and give out their new running statistics.

    Args:
        model: The model to change.
        nodes: The batch norms, each by its first output, as a trap names them.
    """
    for node in model.graph.node:
        if node.op_type == "BatchNormalization" and node.output[0] in nodes:
            kept = [entry for entry in node.attribute if entry.name != "training_mode"]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute("training_mode", 1)])
            outputs = (node.output[0], f"{node.input[3]}.next", f"{node.input[4]}.next")
            del node.output[:]
            node.output.extend(outputs)


def train_dropouts(model: ModelProto, nodes: Collection[str]) -> None:
    """Have dropout drop, as it does when a model trains.

    Args:
        model: The model to change.
        nodes: The Dropout nodes, each by its first output.
    """
    chosen = [node for node in model.graph.node if node.op_type == "Dropout" and node.output[0] in nodes]
    for node in chosen:
        rate = node.input[1] if len(node.input) > 1 and node.input[1] else _RATE
        inputs = (node.input[0], rate, _ON)
        del node.input[:]
        node.input.extend(inputs)
    held = {entry.name for entry in model.graph.initializer}
    used = {name for node in chosen for name in node.input}
    settings = (helper.make_tensor(_ON, TensorProto.BOOL, [], [True]), helper.make_tensor(_RATE, 1, [], [0.5]))
    model.graph.initializer.extend(tensor for tensor in settings if tensor.name in used - held)


def _has_state(view: View, node: NodeProto) -> bool:
    """Return whether the statistics are stored ones: some exporters compute those of the batch beside the node."""
    return node.input[MEAN] in view.tensors


def _batch_norm(node: NodeProto, mean: str, origin: Origin | None) -> Trap:
    place = (node.output[0],)
    what = f"batch norm {node.name or node.output[0]} normalises by its running mean {mean}"
    if origin and mean in origin.batch_norms:
        how = "the model normalised by the batch; so does it now"
        return Trap(BATCH_NORM, "mended", f"{what}, for it was exported in inference mode: {how}", place)
    how = "if it is to be trained as most are, by the statistics of the batch, import it in training mode"
    return Trap(BATCH_NORM, "noted", f"{what}: {how}", place)


def _idle_dropout(node: NodeProto, *, known: bool) -> Trap:
    what = f"dropout {node.name or node.output[0]} does nothing: its training mode is not set"
    if known:
        return Trap(
            DROPOUT, "mended", f"{what}; the model dropped there when it trained, and so does it now", (node.output[0],)
        )
    return Trap(DROPOUT, "noted", f"{what}; import the model in training mode if it is to drop", (node.output[0],))


def _drops(view: View, node: NodeProto) -> bool:
    flag = node.input[FLAG] if len(node.input) > FLAG else ""
    if flag in view.tensors:
        return bool(view.values(flag))
    maker = view.makers.get(flag)
    if maker is not None and maker.op_type == "Constant":
        return bool(numpy_helper.to_array(maker.attribute[0].t))
    return bool(flag)

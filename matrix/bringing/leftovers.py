"""What an exporter leaves in a graph that is not wrong, and that an import must know of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from .trap import Trap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from .graph import View
    from .origin import Origin

ARITHMETIC = "shape-arithmetic"
STRANGER = "not-a-parameter"

_WHOLE = {TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL}


def find_arithmetic(view: View) -> Iterator[Trap]:
    """Yield nodes that ask for shapes at run time; with the sizes of a batch known, they are constants."""
    nodes = tuple(node.output[0] for node in view.nodes if node.op_type in {"Shape", "Size"})
    if nodes:
        what = f"shapes are computed at run time ({len(nodes)} Shape or Size): worked out once, for the sizes given"
        yield Trap(ARITHMETIC, "noted", what, nodes)


def find_strangers(view: View, origin: Origin | None, restored: Collection[str]) -> Iterator[Trap]:
    """Yield floating-point tensors of the graph that are no parameters of the model: literals, and what was folded.

    Args:
        view: The graph.
        origin: What is known of the model.
        restored: Tensors that other traps make into parameters.
    """
    if origin and origin.tensors:
        known = {tensor.name for tensor in origin.tensors} | set(restored)
        names = [name for name, t in view.tensors.items() if name not in known and t.data_type not in _WHOLE]
        if names:
            what = f"of the graph's tensors, {len(names)} are no parameters of the model: they are not trained"
            yield Trap(STRANGER, "noted", what, (), tuple(names))

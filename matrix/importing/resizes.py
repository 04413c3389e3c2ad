"""Resizes whose scale leaves open how long an axis becomes: ONNX's test cases and onnxruntime read them differently."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from onnx import numpy_helper

from ...backends.errors import Fault, InputError
from .checking import label
from .inlining import all_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from onnx import ModelProto, NodeProto

_SCALES: Final = 2
_ROUNDING: Final = 2.0**-23
_COUNTING: Final = frozenset({"align_corners", "tf_crop_and_resize", "pytorch_half_pixel"})


def check_resizes(model: ModelProto, source: str, shapes: Mapping[str, Sequence[int]]) -> None:
    """Refuse a Resize whose result depends on whether a length is rounded before it is reckoned with.

    Args:
        model: A folded model.
        source: What the user called it.
        shapes: Shapes of its tensors, as far as they are known.

    Raises:
        InputError: Names each such node.
    """
    known = {tensor.name: tensor for tensor in model.graph.initializer}
    faults = []
    for node in all_nodes(model.graph):
        tensor = known.get(node.input[_SCALES]) if node.op_type == "Resize" and len(node.input) > _SCALES else None
        if tensor is None or not tensor.dims:
            continue
        scales, how = numpy_helper.to_array(tensor).ravel(), _text(node, "coordinate_transformation_mode")
        for axis, length in _open(node, scales, shapes.get(node.input[0]), how):
            faults.append(Fault(label(node), _say(how, axis, length)))
    if faults:
        raise InputError(source, faults)


def _open(node: NodeProto, scales: np.ndarray, shape: Sequence[int] | None, how: str) -> Iterator[tuple[int, float]]:
    """Yield the axes whose new length is no whole number, with that length; 0 where it is not known."""
    axes: Sequence[int] = next((e.ints for e in node.attribute if e.name == "axes"), range(scales.size))
    for axis, scale in zip(axes, scales, strict=False):
        if how not in _COUNTING or float(scale).is_integer():
            continue
        length = 0.0 if shape is None else shape[axis] * float(scale)
        matters = how != "pytorch_half_pixel" or math.floor(length) <= 1
        # A little above a whole number is rounding of the scale; a little below, one element would be missing.
        if matters and (shape is None or length - math.floor(length) > _ROUNDING * length):
            yield axis, length


def _say(how: str, axis: int, length: float) -> str:
    what = f"Resize with {how} and a scale that is no whole number" + (f" makes {length:g} elements" if length else "")
    why = "ONNX's test cases reckon with that number, and onnxruntime and PyTorch with the rounded one"
    return f"{what} of axis {axis}: {why}; export it with sizes in place of scales"


def _text(node: NodeProto, name: str) -> str:
    found: Any = next((entry.s for entry in node.attribute if entry.name == name), b"half_pixel")
    return str(found.decode())

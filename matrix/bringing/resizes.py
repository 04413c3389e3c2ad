"""Resizing between aligned corners: PyTorch counts the elements that come out, and a scale in ONNX leaves that open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

from .graph import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, ValueInfoProto

SCALES = 2
"""Which input of a Resize holds scales."""


def size_corners(model: ModelProto) -> None:
    """Give each Resize between aligned corners the sizes that come out, in place of scales.

    With a scale of 1.7, 7 elements become 11. PyTorch lays the last of the 11 on the last of the 7; ONNX's own test
    cases count 11.9. With sizes there is one reading.

    Args:
        model: What PyTorch's exporter wrote; it is changed.
    """
    view, known = View(model), {entry.name: entry for entry in (*model.graph.value_info, *model.graph.output)}
    for node in list(model.graph.node):
        scales = _value(view, node.input[SCALES]) if aligns_corners(node) and len(node.input) == SCALES + 1 else None
        axes = [] if scales is None else _scaled(node, scales)
        if scales is None or not axes:
            continue
        sizes = _stated(known.get(node.output[0]), [axis for axis, _ in axes])
        _exchange(model, node, [axis for axis, _ in axes], sizes or [scale for _, scale in axes])


def aligns_corners(node: NodeProto) -> bool:
    """Return whether a node is a Resize that lays corner on corner."""
    mode = next((e.s for e in node.attribute if e.name == "coordinate_transformation_mode"), b"half_pixel")
    return bool(node.op_type == "Resize" and mode == b"align_corners")


def _value(view: View, name: str) -> NDArray[Any] | None:
    if name in view.tensors:
        return view.values(name)
    maker = view.makers.get(name)
    if maker is None or maker.op_type != "Constant":
        return None
    return np.asarray(
        numpy_helper.to_array(maker.attribute[0].t)
        if maker.attribute[0].name == "value"
        else helper.get_attribute_value(maker.attribute[0])
    )


def _scaled(node: NodeProto, scales: NDArray[Any]) -> list[tuple[int, float]]:
    """Return the axes that change, each with its scale."""
    axes: Sequence[int] = next((e.ints for e in node.attribute if e.name == "axes"), range(scales.size))
    return [(axis, float(scale)) for axis, scale in zip(axes, scales.ravel(), strict=True) if scale != 1]


def _stated(entry: ValueInfoProto | None, axes: Sequence[int]) -> list[int]:
    """Return the sizes of some axes as the exporter states them; none where one is open."""
    if entry is None or not entry.type.tensor_type.HasField("shape"):
        return []
    sizes = [int(entry.type.tensor_type.shape.dim[axis].dim_value) for axis in axes]
    return sizes if all(sizes) else []


def _exchange(model: ModelProto, node: NodeProto, axes: Sequence[int], sizes: Sequence[float]) -> None:
    name = f"{node.output[0]}.sizes"
    if all(isinstance(size, int) for size in sizes):
        model.graph.initializer.append(numpy_helper.from_array(np.array(sizes, np.int64), name))
    else:
        place = list(model.graph.node).index(node)
        for made in reversed(list(_counted(model, node, name, (axes, sizes)))):
            model.graph.node.insert(place, made)
    kept = [entry for entry in node.attribute if entry.name != "axes"]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("axes", list(axes), attr_type=AttributeProto.INTS)])
    node.input[SCALES] = ""
    node.input.append(name)


def _counted(
    model: ModelProto, node: NodeProto, name: str, scaled: tuple[Sequence[int], Sequence[float]]
) -> Iterator[NodeProto]:
    """Yield the nodes that work the sizes out from the data's, and keep the numbers that they need."""
    numbers: Mapping[str, NDArray[Any]] = {
        f"{name}.axes": np.array(scaled[0], np.int64),
        f"{name}.scales": np.array(scaled[1], np.float32),
    }
    model.graph.initializer.extend(numpy_helper.from_array(value, key) for key, value in numbers.items())
    steps = [f"{name}.{word}" for word in ("all", "whole", "before", "after", "floor")]
    yield helper.make_node("Shape", [node.input[0]], steps[:1])
    yield helper.make_node("Gather", [steps[0], f"{name}.axes"], steps[1:2])
    yield helper.make_node("Cast", steps[1:2], steps[2:3], to=1)
    yield helper.make_node("Mul", [steps[2], f"{name}.scales"], steps[3:4])
    yield helper.make_node("Floor", steps[3:4], steps[4:])
    yield helper.make_node("Cast", steps[4:], [name], to=7)

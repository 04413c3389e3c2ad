"""Operators whose form changed since operator set 7, with the first set that has the new form.

An attribute became an input, most often; each rule says what the new form needs to mean the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from .upgrade import Old, RefusedError

if TYPE_CHECKING:
    from onnx import NodeProto

    from .upgrade import Rule

_REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"),
    *("ReduceMin", "ReduceProd", "ReduceSumSquare"),
)
_FLAT = ("Softmax", "LogSoftmax", "Hardmax")


def axes_input(old: Old) -> list[NodeProto] | None:
    """Make the attribute `axes` the second input."""
    axes = old.take("axes")
    if axes is not None:
        old.put(1, old.constant(axes, "int64", "axes"))
    return old.done() if axes is not None else None


def flat_softmax(old: Old) -> list[NodeProto] | None:
    """Normalise over every axis from `axis` on, as one: the meaning before operator set 13."""
    axis = old.take("axis", 1)
    rank = old.rank(old.inputs[0])
    if rank is not None and axis in {rank - 1, -1}:
        old.attributes["axis"] = -1
        return old.done()
    source = old.inputs[0]
    shape = old.write("Shape", [source], "shape")
    old.inputs[0] = old.write("Flatten", [source], "flat", axis=axis)
    old.attributes["axis"] = -1
    (output,) = old.outputs
    old.outputs[0] = old.fresh("normalised")
    return old.done(after=[helper.make_node("Reshape", [old.outputs[0], shape], [output])])


def clip(old: Old) -> list[NodeProto] | None:
    """Make `min` and `max` inputs."""
    for place, name in ((1, "min"), (2, "max")):
        limit = old.take(name)
        if limit is not None:
            old.put(place, old.constant(limit, _float_of(old), name))
    return old.done()


def dropout(old: Old) -> list[NodeProto] | None:
    """Make `ratio` an input; without the input `training_mode`, nothing is dropped, as before."""
    old.put(1, old.constant(old.take("ratio", 0.5), "float32", "ratio"))
    return old.done()


def pad(old: Old) -> list[NodeProto] | None:
    """Make `pads` and `value` inputs."""
    old.put(1, old.constant(old.take("pads"), "int64", "pads"))
    value = old.take("value")
    if value:
        old.put(2, old.constant(value, _float_of(old), "value"))
    return old.done()


def slice_(old: Old) -> list[NodeProto] | None:
    """Make `starts`, `ends` and `axes` inputs."""
    for place, name in ((1, "starts"), (2, "ends"), (3, "axes")):
        numbers = old.take(name)
        if numbers is not None:
            old.put(place, old.constant(numbers, "int64", name))
    return old.done()


def top_k(old: Old) -> list[NodeProto] | None:
    """Make `k` an input."""
    old.put(1, old.constant([old.take("k")], "int64", "k"))
    return old.done()


def split(old: Old) -> list[NodeProto] | None:
    """Make `split` an input, and say into how many parts where the sizes are not given."""
    sizes = old.take("split")
    if sizes is not None:
        old.put(1, old.constant(sizes, "int64", "sizes"))
    elif not old.given(1):
        old.attributes["num_outputs"] = len(old.outputs)
    return old.done()


def batch_norm(old: Old) -> list[NodeProto] | None:
    """Say by `training_mode` what the number of outputs said before operator set 14."""
    training = sum(bool(name) for name in old.outputs) > 1
    if not old.take("spatial", 1):
        raise RefusedError("normalises every place of a sample by itself (spatial = 0)")
    if old.needed.intersection(old.outputs[3:]):
        raise RefusedError("gives out statistics of the batch that newer sets do not")
    old.outputs = old.outputs[:3]
    if training:
        old.attributes["training_mode"] = 1
    return old.done()


def upsample(old: Old) -> list[NodeProto] | None:
    """Make it a `Resize` that counts from the corner and rounds down."""
    scales = old.take("scales")
    if scales is None and "height_scale" in old.attributes:
        scales = [1.0, 1.0, old.take("height_scale"), old.take("width_scale")]
    name = old.constant(scales, "float32", "scales") if scales is not None else old.given(1)
    old.inputs = [old.inputs[0], "", name]
    return _from_the_corner(old)


def resize_10(old: Old) -> list[NodeProto] | None:
    """Put the scales in the third place; places are counted from the corner."""
    old.inputs = [old.inputs[0], "", old.inputs[1]]
    return _from_the_corner(old)


def resize(old: Old) -> list[NodeProto] | None:
    """Leave out inputs that are empty tensors; a mode of operator set 11 that no later one has is refused."""
    if old.attributes.get("coordinate_transformation_mode") == "tf_half_pixel_for_nn":
        raise RefusedError("uses tf_half_pixel_for_nn, which no later set has")
    empty = [place for place in (1, 2) if old.shape(old.given(place)) == (0,)]
    for place in empty:
        old.put(place, "")
    return old.done() if empty else None


def roi_align(old: Old) -> list[NodeProto] | None:
    """State the way of counting places that was the only one."""
    old.attributes.setdefault("coordinate_transformation_mode", "output_half_pixel")
    return old.done()


def grid_sample(old: Old) -> list[NodeProto] | None:
    """Give modes their new names."""
    names = {"bilinear": "linear", "bicubic": "cubic"}
    mode = old.take("mode", "bilinear")
    old.attributes["mode"] = names.get(mode, mode)
    return old.done()


def dft(old: Old) -> list[NodeProto] | None:
    """Make `axis` an input; its default was 1."""
    old.put(2, old.constant(old.take("axis", 1), "int64", "axis"))
    return old.done()


def group_norm(old: Old) -> list[NodeProto] | None:
    """Repeat scale and bias, one of each group, for every channel."""
    groups = old.constant([old.attributes["num_groups"]], "int64", "groups")
    channels = old.write("Shape", [old.inputs[0]], "channels", start=1, end=2)
    times = old.write("Div", [channels, groups], "times")
    sizes = old.write("Concat", [groups, times], "sizes", axis=0)
    one = old.constant([1], "int64", "one")
    for place in (1, 2):
        column = old.write("Unsqueeze", [old.inputs[place], one], f"column{place}")
        wide = old.write("Expand", [column, sizes], f"wide{place}")
        old.inputs[place] = old.write("Reshape", [wide, channels], f"each{place}")
    return old.done()


def scatter(old: Old) -> list[NodeProto] | None:
    """Use the operator's later name."""
    return old.done("ScatterElements")


def _from_the_corner(old: Old) -> list[NodeProto]:
    mode = old.take("mode", "nearest")
    old.attributes |= {"mode": "linear" if mode in {"bilinear", "linear"} else mode}
    old.attributes |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    scales = old.value(old.inputs[2])
    if mode == "nearest" and scales is not None and bool(np.any(scales < 1)):
        raise RefusedError("makes an image smaller by the nearest element, and sets differ in which one that is")
    return old.done("Resize")


def _float_of(old: Old) -> str:
    """Return the dtype of a limit or a padding: that of the node's first input."""
    return old.dtype(old.inputs[0])


UPGRADES: dict[str, tuple[tuple[int, Rule], ...]] = {
    "BatchNormalization": ((14, batch_norm),),
    "Clip": ((11, clip),),
    "DFT": ((20, dft),),
    "Dropout": ((12, dropout),),
    "GridSample": ((20, grid_sample),),
    "GroupNormalization": ((21, group_norm),),
    "Pad": ((11, pad),),
    "ReduceSum": ((13, axes_input),),
    "Resize": ((11, resize_10), (18, resize)),
    "RoiAlign": ((16, roi_align),),
    "Scatter": ((28, scatter),),
    "Slice": ((10, slice_),),
    "Split": ((18, split),),
    "Squeeze": ((13, axes_input),),
    "TopK": ((10, top_k),),
    "Unsqueeze": ((13, axes_input),),
    "Upsample": ((28, upsample),),
    **dict.fromkeys(_REDUCTIONS, ((18, axes_input),)),
    **dict.fromkeys(_FLAT, ((13, flat_softmax),)),
}
"""For each operator, in rising order: the first operator set that has the new form, and the rule for older ones."""

"""Operators of the sets 1 to 6, where they had another form; later changes of the same operator are done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from . import upgrades
from .upgrade import Old, RefusedError

if TYPE_CHECKING:
    from onnx import NodeProto

    from .upgrade import Rule

_BROADCASTING = ("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Greater", "Less", "Pow", "Gemm")
_CHANGED_IN_PLACE = (
    *("Abs", "Ceil", "Exp", "Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min"),
    *("Neg", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Sum", "Tanh", "Elu"),
)
_RECURRENT = ("LSTM", "GRU", "RNN")
_CHANNELS = 1
_SELU = {"alpha": 1.6732, "gamma": 1.0507}


def broadcasting(old: Old) -> list[NodeProto] | None:
    """Say by the shape of the second operand what the attribute `axis` said: where its axes lie in the first."""
    broadcast, axis = old.take("broadcast", 0), old.take("axis")
    if not broadcast or axis is None or old.node.op_type == "Gemm":
        return old.done()
    whole, part = old.rank(old.inputs[0]), old.rank(old.inputs[1])
    if whole is None or part is None:
        raise RefusedError("broadcasts at an axis of a tensor whose rank is not known")
    behind = whole - axis % whole - part
    if behind:
        axes = old.constant(list(range(part, part + behind)), "int64", "axes")
        old.inputs[1] = old.write("Unsqueeze", [old.inputs[1], axes], "placed")
    return old.done()


def prelu(old: Old) -> list[NodeProto] | None:
    """Let one slope per channel lie along the channels."""
    rank, slope = old.rank(old.inputs[0]), old.shape(old.inputs[1])
    if slope is None or rank is None:
        raise RefusedError("has a slope or an input whose shape is not known")
    if len(slope) == 1 and slope != (1,) and rank > _CHANNELS + 1:
        axes = old.constant(list(range(1, rank - 1)), "int64", "axes")
        old.inputs[1] = old.write("Unsqueeze", [old.inputs[1], axes], "placed")
    return old.done()


def cast(old: Old) -> list[NodeProto] | None:
    """Give the type by its number."""
    name = old.take("to")
    old.attributes["to"] = TensorProto.DataType.Value(name) if isinstance(name, str) else name
    return old.done()


def concat(old: Old) -> list[NodeProto] | None:
    """State the axis; its default was 1."""
    old.attributes.setdefault("axis", 1)
    return old.done()


def dropout(old: Old) -> list[NodeProto] | None:
    """Drop unless `is_test` is set."""
    training = not old.take("is_test", 0)
    old.put(1, old.constant(old.take("ratio", 0.5), "float32", "ratio"))
    if training:
        old.put(2, old.constant(np.True_, "bool", "training"))
    return old.done()


def batch_norm(old: Old) -> list[NodeProto] | None:
    """Normalise by the batch unless `is_test` is set."""
    training = not old.take("is_test", 0)
    made = upgrades.batch_norm(old)
    old.attributes.pop("training_mode", None)
    if training:
        old.attributes["training_mode"] = 1
    return made and old.done()


def pad(old: Old) -> list[NodeProto] | None:
    """Read the attribute's older name."""
    paddings = old.take("paddings")
    if paddings is not None:
        old.attributes["pads"] = paddings
    return upgrades.pad(old)


def reshape(old: Old) -> list[NodeProto] | None:
    """Make `shape` an input."""
    old.put(1, old.constant(old.take("shape"), "int64", "shape"))
    return old.done()


def norm_pool(old: Old) -> list[NodeProto] | None:
    """Give the exponent as an integer."""
    exponent = old.take("p", 2.0)
    if exponent != int(exponent):
        raise RefusedError(f"has the exponent {exponent}, which is no whole number")
    old.attributes["p"] = int(exponent)
    return old.done()


def tile(old: Old) -> list[NodeProto] | None:
    """Say for every axis how often it is repeated."""
    rank, times, axis = old.rank(old.inputs[0]), old.value(old.given(1)), old.value(old.given(2))
    if rank is None or times is None or axis is None:
        raise RefusedError("repeats an axis that is not known beforehand")
    repeats = np.ones(rank, np.int64)
    repeats[int(axis.reshape(-1)[0])] = int(times.reshape(-1)[0])
    old.inputs = [old.inputs[0], old.constant(repeats, "int64", "repeats")]
    return old.done()


def selu(old: Old) -> list[NodeProto] | None:
    """State the constants, whose defaults were rounded."""
    old.attributes = {**_SELU, **old.attributes}
    return old.done()


def recurrent(old: Old) -> list[NodeProto] | None:
    """Forget whether the whole sequence is given out: whether the output has a name says so."""
    old.take("output_sequence")
    return old.done()


def plain(old: Old) -> list[NodeProto] | None:
    """Forget which inputs could be overwritten."""
    return old.done()


def refused_scan(_old: Old) -> list[NodeProto] | None:
    """Refuse the form with a batch axis."""
    raise RefusedError("has a batch axis, which no later set has")


LEGACY: dict[str, tuple[tuple[int, Rule], ...]] = {
    **dict.fromkeys(_BROADCASTING, ((7, broadcasting),)),
    **dict.fromkeys(_CHANGED_IN_PLACE, ((6, plain),)),
    **dict.fromkeys(_RECURRENT, ((7, recurrent),)),
    "BatchNormalization": ((7, batch_norm), *upgrades.UPGRADES["BatchNormalization"]),
    "Cast": ((6, cast),),
    "Clip": ((11, upgrades.clip),),
    "Concat": ((4, concat),),
    "Dropout": ((7, dropout), *upgrades.UPGRADES["Dropout"]),
    "GlobalLpPool": ((2, norm_pool),),
    "LpPool": ((2, norm_pool),),
    "PRelu": ((7, prelu),),
    "Pad": ((2, pad), *upgrades.UPGRADES["Pad"]),
    "Reshape": ((5, reshape),),
    "Scan": ((9, refused_scan),),
    "Selu": ((6, selu),),
    "Tile": ((6, tile),),
}
"""As `upgrades.UPGRADES`, which it goes before."""

"""Convolutions, pools and normalisations beyond ONNX's suite: what they must give, from formulas written in numpy."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from number_runs import fed

from stackproof.backends.program import Input, Node, Program
from stackproof.backends.static import STATIC_INPUTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

_DRAW = np.random.default_rng(11)
IMAGES = {1: (9,), 2: (9, 8), 3: (5, 6, 5)}


@dataclass(frozen=True)
class Layer:
    """A node with its inputs and what its first output must be."""

    name: str
    op: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any]
    wanted: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        return self.name


def evaluate(
    module: ModuleType, op: str, inputs: Sequence[Any], *, outputs: int = 1, compiled: bool = False, **attributes: Any
) -> list[Any]:
    """Return the outputs of a node whose static inputs are constants."""
    names = [f"x{place}" if value is not None else "" for place, value in enumerate(inputs)]
    static = {f"x{place}" for place in STATIC_INPUTS.get(op, ())}
    held = dict(zip(names, inputs, strict=True))
    entries = tuple(Input(n, str(v.dtype), v.shape) for n, v in held.items() if n and n not in static)
    made = tuple(f"y{place}" for place in range(outputs))
    node = Node(op, tuple(names), made, attributes)
    program = Program(op, entries, (node,), "", {}, {n: v for n, v in held.items() if n in static}, made)
    return list(module.Evaluation(program, compile=compiled).run(fed(op, inputs)).values())


def drawn(*shape: int) -> np.ndarray:
    """Return standard normal numbers."""
    return _DRAW.standard_normal(shape)


def convolved(data: np.ndarray, weight: np.ndarray, form: Mapping[str, Any]) -> np.ndarray:
    """The definition of a convolution: a sum over every place of the window."""
    groups, strides, dilations = form["group"], form["strides"], form["dilations"]
    rank = data.ndim - 2
    pairs = [(form["pads"][axis], form["pads"][axis + rank]) for axis in range(rank)]
    padded = np.pad(data, [(0, 0), (0, 0), *pairs])
    spans = [(window - 1) * dilation + 1 for window, dilation in zip(weight.shape[2:], dilations, strict=True)]
    out = [(size - span) // s + 1 for size, span, s in zip(padded.shape[2:], spans, strides, strict=True)]
    made = np.zeros((data.shape[0], weight.shape[0], *out))
    inner, outer = data.shape[1] // groups, weight.shape[0] // groups
    for group, place in itertools.product(range(groups), itertools.product(*map(range, weight.shape[2:]))):
        seen = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s) for p, d, s, n in zip(place, dilations, strides, out, strict=True)
        )
        part = padded[(slice(None), slice(group * inner, (group + 1) * inner), *seen)]
        rows = slice(group * outer, (group + 1) * outer)
        made[:, rows] += np.einsum("nc...,oc->no...", part, weight[(rows, slice(None), *place)])
    return made


def convolutions() -> list[Layer]:
    """Return convolutions of one to three axes with strides, dilations, groups and uneven padding, also together."""
    found = []
    forms = ((1, 1, 1, 0), (2, 1, 2, 1), (1, 2, 4, 1), (2, 2, 2, 0), (2, 2, 1, 1), (2, 1, 4, 0))
    for rank, (stride, dilation, groups, pad) in itertools.product(IMAGES, forms):
        form = {
            "strides": (stride,) * rank,
            "dilations": (dilation,) * rank,
            "group": groups,
            "pads": (pad,) * rank + (2 * pad,) * rank,
        }
        data, weight, bias = drawn(2, 4, *IMAGES[rank]), drawn(8, 4 // groups, *(2,) * rank), drawn(8)
        wanted = convolved(data, weight, form) + bias.reshape(-1, *(1,) * rank)
        name = f"{rank}d-stride{stride}-dilation{dilation}-groups{groups}-pad{pad}"
        found.append(Layer(name, "Conv", (data, weight, bias), form, wanted))
    return found


def pools() -> list[Layer]:
    """Return pools with every way of padding and counting."""
    forms: tuple[dict[str, Any], ...] = (
        {"pads": (1, 1)},
        {"pads": (0, 1), "ceil_mode": 1},
        {"pads": (1, 2), "dilation": 2},
        {"ceil_mode": 1, "dilation": 2},
    )
    found = []
    for rank, form in itertools.product(IMAGES, forms):
        begin, end = form.get("pads", (0, 0))
        attributes = {
            "kernel_shape": (3,) * rank,
            "strides": (2,) * rank,
            "dilations": (form.get("dilation", 1),) * rank,
            "pads": (begin,) * rank + (end,) * rank,
            "ceil_mode": form.get("ceil_mode", 0),
        }
        data = drawn(2, 3, *IMAGES[rank])
        for op, further, function in _POOLS:
            wanted = pooled(data, {**attributes, **further}, function)
            name = f"{op}-{rank}d-{'-'.join(map(str, (*form.values(), *further.values())))}"
            found.append(Layer(name, op, (data,), {**attributes, **further}, wanted))
    return found


def pooled(data: np.ndarray, form: Mapping[str, Any], function: Callable[[np.ndarray, int], float]) -> np.ndarray:
    """The definition of a pool: a function of what each window sees, and of how many places it has with padding."""
    per_axis = [list(_windows(size, axis, form)) for axis, size in enumerate(data.shape[2:])]
    made = np.zeros((*data.shape[:2], *map(len, per_axis)))
    for place in itertools.product(*(range(len(axis)) for axis in per_axis)):
        chosen = [axis[index] for axis, index in zip(per_axis, place, strict=True)]
        seen = data[np.ix_(*map(range, data.shape[:2]), *(inside for inside, _ in chosen))]
        count = math.prod(padded for _, padded in chosen)
        for image in itertools.product(*map(range, data.shape[:2])):
            made[(*image, *place)] = function(seen[image].reshape(-1), count)
    return made


def _windows(size: int, axis: int, form: Mapping[str, Any]) -> list[tuple[list[int], int]]:
    rank = len(form["kernel_shape"])
    begin, end = form["pads"][axis], form["pads"][axis + rank]
    window, stride, dilation = (form[key][axis] for key in ("kernel_shape", "strides", "dilations"))
    room = (size + begin + end - (window - 1) * dilation - 1) / stride
    count = (math.ceil(room) if form["ceil_mode"] else math.floor(room)) + 1
    starts = [start for start in range(-begin, -begin + count * stride, stride) if start < size]
    places = [[start + place * dilation for place in range(window)] for start in starts]
    return [([p for p in found if 0 <= p < size], sum(-begin <= p < size + end for p in found)) for found in places]


_POOLS: tuple[tuple[str, dict[str, Any], Callable[[np.ndarray, int], float]], ...] = (
    ("MaxPool", {}, lambda seen, _count: seen.max()),
    ("AveragePool", {"count_include_pad": 0}, lambda seen, _count: seen.mean()),
    ("AveragePool", {"count_include_pad": 1}, lambda seen, count: seen.sum() / count),
    ("LpPool", {"p": 1}, lambda seen, _count: np.abs(seen).sum()),
    ("LpPool", {"p": 3}, lambda seen, _count: (np.abs(seen) ** 3).sum() ** (1 / 3)),
)


def normalisations() -> list[Layer]:
    """Return normalisations over groups, instances, channels around and axes."""
    data, scale, bias = drawn(2, 6, 4, 3), drawn(6), drawn(6)
    affine = (scale.reshape(-1, 1, 1), bias.reshape(-1, 1, 1))
    grouped = _standard(data.reshape(2, 3, 2, 4, 3), (2, 3, 4)).reshape(data.shape)
    channels = np.arange(6)
    near = [np.flatnonzero((channels >= c - 1) & (channels <= c + 2)) for c in channels]
    squares = np.stack([(data[:, seen] ** 2).sum(axis=1) for seen in near], axis=1)
    lengths = np.sqrt((data**2).sum(axis=1, keepdims=True))
    return [
        Layer("groups", "GroupNormalization", (data, scale, bias), {"num_groups": 3}, grouped * affine[0] + affine[1]),
        Layer(
            "instances",
            "InstanceNormalization",
            (data, scale, bias),
            {},
            _standard(data, (2, 3)) * affine[0] + affine[1],
        ),
        Layer("even-lrn", "LRN", (data,), {"size": 4, "alpha": 0.4}, data / (1 + 0.1 * squares) ** 0.75),
        Layer("lengths", "LpNormalization", (data,), {"axis": 1}, data / lengths),
        Layer(
            "mean-variance",
            "MeanVarianceNormalization",
            (data,),
            {"axes": (1, 3)},
            (data - data.mean(axis=(1, 3), keepdims=True)) / (data.std(axis=(1, 3), keepdims=True) + 1e-9),
        ),
    ]


def _standard(data: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    centred = data - data.mean(axis=axes, keepdims=True)
    return np.asarray(centred / np.sqrt(data.var(axis=axes, keepdims=True) + 1e-5))

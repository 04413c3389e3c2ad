"""Cases for operators that move, pick and resize values, beyond ONNX's own: dtypes, odd arguments, compiled programs.

What each should give comes from numpy or from ONNX's reference evaluator.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from operator_cases import Case, reference

from stackproof.backends.program import Input, Node, Program
from stackproof.backends.static import STATIC_INPUTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
DTYPES = (*INTEGERS, "float16", "float32", "float64", "bool")


def ints(*values: int) -> np.ndarray:
    """Return an int64 vector."""
    return np.array(values, np.int64)


def numbers(dtype: str, *shape: int) -> np.ndarray:
    """Return numbers of a dtype that are all different where it has so many; unsigned ones reach its upper half."""
    if dtype == "bool":
        return np.random.default_rng(5).uniform(size=shape) < 0.5
    drawn = np.random.default_rng(7).permutation(int(np.prod(shape))).reshape(shape)
    if dtype.startswith("uint"):
        return (np.iinfo(dtype).max - drawn.astype(dtype) * 3).astype(dtype)
    return (drawn - drawn.size // 2).astype(dtype)


def moving_cases() -> list[Case]:
    """Return the cases whose operators only move values, for every dtype."""
    return [case for dtype in DTYPES for case in _moving(dtype)]


def _moving(dtype: str) -> Iterator[Case]:
    data, cube = numbers(dtype, 4, 5), numbers(dtype, 2, 4, 6)

    def case(op: str, label: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Case:
        return Case(f"{op}-{label}-{dtype}", op, inputs, attributes, outputs)

    yield case("Gather", "axis1", data, np.array([[0, -1], [2, -5]]), axis=1)
    yield case("Gather", "int32", data, np.array([1, -4], np.int32))
    yield case("GatherElements", "axis0", data, np.array([[0, -1, 2, 1, 3], [3, 1, -4, -2, 0]]), axis=0)
    yield case("GatherND", "batch", cube, np.array([[[0], [-1]], [[3], [2]]]), batch_dims=1)
    yield case("GatherND", "pairs", cube, np.array([[0, 1], [-1, -4]]))
    yield case("Where", "broadcast", np.array([[True], [False], [True], [False]]), data, numbers(dtype, 5))
    yield case("Slice", "back", data, ints(-1, 9), ints(-9, -99), ints(0, 1), ints(-2, -1))
    yield case("Slice", "beyond", data, ints(1), ints(2**63 - 1), ints(-1), ints(3))
    yield case("Slice", "nothing", data, ints(3), ints(1))
    yield case("Concat", "axis", data, data[:, :2], axis=-1)
    yield case("Tile", "both", data, ints(2, 3))
    yield case("Expand", "both", data[:, :1], ints(2, 1, 5))
    yield case("Transpose", "default", cube)
    yield case("Split", "uneven", data, ints(1, 4), axis=1, outputs=2)
    yield case("Trilu", "lower", cube, np.array(-1), upper=0)
    yield case("Trilu", "upper", cube, np.array(1))
    yield case("Compress", "axis", data, np.array([False, True, True]), axis=1)
    yield case("Compress", "flat", data, np.array([False, True, True]))
    yield case("ReverseSequence", "batch0", data, ints(3, 5, 1, 2), batch_axis=0, time_axis=1)
    yield case("CenterCropPad", "odd", data, ints(7, 2))
    yield case("NonZero", "matrix", data)
    for mode in ("edge", "reflect", "wrap"):
        yield case("Pad", mode, data, ints(2, 1), None, ints(-1), mode=mode)
    yield case("Pad", "constant", data, ints(1, 0, 0, 2), numbers(dtype, 1).reshape(()))
    yield case("DepthToSpace", "crd", numbers(dtype, 1, 8, 2, 3), blocksize=2, mode="CRD")
    if dtype != "bool":
        yield case("OneHot", "values", np.array([1, -1, 7]), np.array(3), data[0, :2], axis=0)
        small = data if dtype != "uint64" else data - data.min()
        yield case("Resize", "nearest", small, None, np.array([2.0, 0.6], np.float32))
        yield case("Unique", "flat", data, outputs=4)
        yield case("TopK", "least", data, ints(3), axis=0, largest=0, outputs=2)
        yield case("TopK", "most", np.concatenate([data, data], 1), ints(4), outputs=2)


def scattering_cases() -> list[Case]:
    """Return the cases that put values at places, for every dtype and reduction."""
    return [
        case
        for dtype in DTYPES
        for reduction in (("none",) if dtype == "bool" else ("none", "add", "mul", "max", "min"))
        for case in _scattering(dtype, reduction)
    ]


def _scattering(dtype: str, reduction: str) -> Iterator[Case]:
    data, updates = numbers(dtype, 4, 3), numbers(dtype, 3, 3)[1:]
    # Repeated places are free of meaning without a reduction.
    rows = np.array([[1], [-1]]) if reduction == "none" else np.array([[1], [-3]])
    elements = np.array([[0, -1, 2], [3, 1, -4]]) if reduction == "none" else np.array([[0, -1, 2], [0, 3, 2]])
    label = f"{reduction}-{dtype}"
    yield Case(f"ScatterND-{label}", "ScatterND", (data, rows, updates), {"reduction": reduction})
    yield Case(f"ScatterElements-{label}", "ScatterElements", (data, elements, updates), {"reduction": reduction})


def resizing_cases() -> list[Case]:
    """Return the modes of `Resize` on sizes that divide nothing, for floating-point numbers and integers."""
    made = []
    for dtype in ("float32", "float64", "uint8", "int32"):
        image = numbers(dtype, 1, 2, 7, 5)
        for mode in ("linear", "cubic"):
            for attributes in _RESIZES:
                scales = None if "keep_aspect_ratio_policy" in attributes else np.array([1, 1, 0.6, 1.7], np.float32)
                sizes = ints(1, 2, 4, 9) if scales is None else None
                kept = {**attributes, "mode": mode}
                label = "-".join(f"{value}" for value in kept.values())
                # What lies at a half is rounded either way, by how a sum was ordered.
                atol = 1.0 if "int" in dtype else 1e-5
                made.append(Case(f"Resize-{label}-{dtype}", "Resize", (image, None, scales, sizes), kept, atol=atol))
    return made


_RESIZES: tuple[dict[str, Any], ...] = (
    {},
    {"antialias": 1},
    {"antialias": 1, "exclude_outside": 1},
    {"coordinate_transformation_mode": "align_corners"},
    {"coordinate_transformation_mode": "asymmetric", "exclude_outside": 1},
    {"coordinate_transformation_mode": "half_pixel_symmetric"},
    {"coordinate_transformation_mode": "pytorch_half_pixel", "keep_aspect_ratio_policy": "stretch"},
)


def sampling_cases() -> list[Case]:
    """Return `GridSample` at places in and outside images of one, two and three axes."""
    draw, made = np.random.default_rng(11), []
    for sizes in ((6,), (4, 5), (3, 4, 2)):
        image = draw.standard_normal((2, 2, *sizes)).astype(np.float32)
        grid = draw.uniform(-2.3, 2.3, (2, *(3,) * len(sizes), len(sizes))).astype(np.float32)
        for mode in ("linear", "nearest", "cubic"):
            for padding in ("zeros", "border", "reflection"):
                for corners in (0, 1):
                    attributes = {"mode": mode, "padding_mode": padding, "align_corners": corners}
                    label = f"{len(sizes)}d-{mode}-{padding}-{corners}"
                    case = Case(f"GridSample-{label}", "GridSample", (image, grid), attributes, rtol=1e-3, atol=1e-4)
                    made.append(case)
    return made


def together(cases: Sequence[Case]) -> tuple[Program, dict[str, np.ndarray]]:
    """Return one program with a node per case, and its inputs; outputs are named by case and place."""
    nodes, constants, fed = [], {}, {}
    for number, case in enumerate(cases):
        static = STATIC_INPUTS.get(case.op, ())
        names = [f"{number}.{place}" if value is not None else "" for place, value in enumerate(case.inputs)]
        for place, name in enumerate(names):
            if name:
                (constants if place in static else fed)[name] = case.inputs[place]
        nodes.append(Node(case.op, tuple(names), tuple(_outputs(case)), case.attributes))
    inputs = tuple(Input(name, str(value.dtype), value.shape) for name, value in fed.items())
    outputs = tuple(name for case in cases for name in _outputs(case))
    return Program("cases", inputs, tuple(nodes), "", {}, constants, outputs), fed


def _outputs(case: Case) -> list[str]:
    return [f"{case.name}/{place}" for place in range(case.outputs)]


def differences(cases: Sequence[Case], made: dict[str, Any]) -> dict[str, str]:
    """Return how outputs differ from what the reference evaluator gives, by name of output."""
    found = {}
    for case in cases:
        for name, wanted in zip(_outputs(case), wanted_of(case), strict=True):
            difference = _difference(np.asarray(made[name]), wanted, case)
            if difference:
                found[name] = difference
    return found


def wanted_of(case: Case) -> tuple[np.ndarray, ...]:
    """Return what a case should give; the evaluator has no negative pads, for which numpy takes slices."""
    if case.op == "Pad" and case.inputs[1].size == 2:
        before, after = (int(size) for size in case.inputs[1])
        pairs = [(0, 0)] * (case.inputs[0].ndim - 1) + [(before, after)]
        return (np.pad(case.inputs[0], pairs, mode=case.attributes["mode"]),)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # unsigned integers wrap around on purpose
        return reference(case)


def _difference(made: np.ndarray, wanted: np.ndarray, case: Case) -> str:
    if made.dtype != wanted.dtype or made.shape != wanted.shape:
        return f"{made.dtype}{made.shape}, not {wanted.dtype}{wanted.shape}"
    close = np.isclose(made.astype(np.float64), wanted.astype(np.float64), case.rtol, case.atol, equal_nan=True)
    exact = made == wanted if made.dtype.kind in "iub" and case.atol < 1 else close
    return "" if exact.all() else f"{made[~exact][:3]}, not {wanted[~exact][:3]}"


def compiled_cases() -> list[Case]:
    """Return what one compiled program holds of all these: two dtypes, and a part of the modes of interpolation."""
    of_dtypes = [*moving_cases(), *scattering_cases()]
    moving = [case for case in of_dtypes if case.name.endswith(("-float32", "-bool"))]
    resizing = [case for case in resizing_cases() if case.name.endswith("float32")]
    valued = ("NonZero", "Unique")
    return [*(case for case in moving if case.op not in valued), *resizing[::2], *sampling_cases()[::5]]

"""Random operator cases, several per operator, for every framework's suite.

Attributes are exact in float32, in which ONNX's protocol buffers hold them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from operator_cases import Case

if TYPE_CHECKING:
    from collections.abc import Iterator

SAME_OUTPUT_OPERATORS = ("Neg", "Exp", "Relu", "Tanh", "Sigmoid", "Identity")
BROADCASTS = (((2, 3), (2, 3)), ((2, 3, 4), (4,)), ((3, 1), (1, 5)), ((), (2, 2)))
# Cases whose gradients are compared with differences; the others are compositions of framework functions.
_DIFFERENTIATED = """
    Pow Gelu Swish Softmax LogSoftmax MatMul Gemm Gather Split Concat ReduceMean LayerNormalization RMSNormalization
    RotaryEmbedding Attention Conv MaxPool GlobalAveragePool SoftmaxCrossEntropyLoss
"""
DIFFERENTIATED = frozenset(_DIFFERENTIATED.split())


def drawn_cases(dtype: str) -> list[Case]:
    """Return the cases with floating-point inputs of that dtype, with names unique among them."""
    maker = _Maker(dtype)
    families = (_elementwise, _products, _moving, _reducing, _normalising, _windows, _losses, _attending, _rotating)
    return [case for family in families for case in family(maker)]


class _Maker:
    def __init__(self, dtype: str) -> None:
        self._dtype, self._draw = np.dtype(dtype), np.random.default_rng(2026)
        self._tolerance = 1e-12 if dtype == "float64" else 2e-5

    def normal(self, *shape: int) -> np.ndarray:
        return np.asarray(self._draw.standard_normal(shape), dtype=self._dtype)

    def positive(self, *shape: int) -> np.ndarray:
        return np.asarray(self._draw.uniform(0.2, 3.0, shape), dtype=self._dtype)

    def integers(self, low: int, high: int, *shape: int) -> np.ndarray:
        return self._draw.integers(low, high, shape)

    def chosen(self, *shape: int) -> np.ndarray:
        return self._draw.uniform(size=shape) < 0.7

    def case(self, op: str, label: str, *inputs: np.ndarray | None, outputs: int = 1, **attributes: Any) -> Case:
        tolerance = {"rtol": self._tolerance, "atol": self._tolerance}
        return Case(f"{op}-{label}", op, inputs, attributes, outputs, **tolerance)


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def _elementwise(make: _Maker) -> Iterator[Case]:
    for op in SAME_OUTPUT_OPERATORS:
        yield make.case(op, "matrix", make.normal(3, 4))
        yield make.case(op, "scalar", make.normal())
    for op in ("Log", "Sqrt"):
        yield make.case(op, "matrix", make.positive(3, 4))
    for op in ("Add", "Sub", "Mul", "Div"):
        for number, (left, right) in enumerate(BROADCASTS):
            yield make.case(op, f"broadcast{number}", make.normal(*left), make.positive(*right))
    yield make.case("Div", "integers", make.integers(-9, 9, 4, 5), make.integers(1, 4, 5))
    yield make.case("Pow", "real", make.positive(2, 3), make.normal(3))
    yield make.case("Pow", "square", make.normal(2, 3), np.asarray(2.0, dtype=make.normal().dtype))
    yield make.case("Gelu", "exact", make.normal(4, 5) * 3)
    yield make.case("Gelu", "tanh", make.normal(4, 5) * 3, approximate="tanh")
    yield make.case("Swish", "default", make.normal(4, 5) * 3)
    yield make.case("Swish", "alpha", make.normal(4, 5) * 3, alpha=1.75)
    yield make.case("Cast", "to_int64", make.normal(4, 5) * 9, to=7)
    yield make.case("Cast", "to_int32", make.normal(4, 5) * 9, to=6)
    yield make.case("Cast", "to_bool", make.integers(-1, 2, 4, 5), to=9)
    yield make.case("Cast", "bool_to_float32", make.chosen(4, 5), to=1)


def _products(make: _Maker) -> Iterator[Case]:
    for number, (left, right) in enumerate(
        (((3, 4), (4, 2)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (2, 4, 3)), ((4,), (4,)))
    ):
        yield make.case("MatMul", f"shape{number}", make.normal(*left), make.normal(*right))
    yield make.case("Gemm", "plain", make.normal(3, 4), make.normal(4, 2))
    yield make.case("Gemm", "row", make.normal(3, 4), make.normal(4, 2), make.normal(2))
    yield make.case(
        "Gemm",
        "all",
        make.normal(4, 3),
        make.normal(2, 4),
        make.normal(3, 1),
        transA=1,
        transB=1,
        alpha=0.25,
        beta=0.75,
    )


def _moving(make: _Maker) -> Iterator[Case]:
    yield make.case("Gather", "rows", make.normal(6, 3), make.integers(0, 6, 2, 5))
    yield make.case("Gather", "negative", make.normal(6, 3), make.integers(-6, 6, 7), axis=0)
    yield make.case("Gather", "middle", make.normal(2, 5, 3), make.integers(-5, 5, 2, 2), axis=-2)
    yield make.case("Gather", "scalar", make.normal(2, 5), np.asarray(3), axis=1)
    yield make.case("Reshape", "copy_and_infer", make.normal(2, 3, 4), ints(0, -1))
    yield make.case("Reshape", "allowzero", make.normal(0, 3), ints(3, 0), allowzero=1)
    yield make.case("Reshape", "scalar", make.normal(1, 1), ints())
    yield make.case("Transpose", "reversed", make.normal(2, 3, 4))
    yield make.case("Transpose", "perm", make.normal(2, 3, 4), perm=(1, 2, 0))
    for axis in (0, 1, 3, -1):
        yield make.case("Flatten", f"axis{axis}", make.normal(2, 3, 4), axis=axis)
    yield make.case("Concat", "last", make.normal(2, 3), make.normal(2, 1), make.normal(2, 4), axis=-1)
    yield make.case("Split", "sizes", make.normal(2, 7), ints(2, 0, 5), axis=-1, outputs=3)
    yield make.case("Split", "uneven", make.normal(7, 2), num_outputs=3, outputs=3)
    yield make.case("Squeeze", "axes", make.normal(1, 2, 1, 3, 1), ints(0, -1))
    yield make.case("Squeeze", "all", make.normal(1, 2, 1, 3, 1))
    yield make.case("Unsqueeze", "axes", make.normal(2, 3), ints(-1, 0, 2))


def _reducing(make: _Maker) -> Iterator[Case]:
    for op in ("ReduceMean", "ReduceSum"):
        yield make.case(op, "all", make.normal(2, 3, 4), keepdims=0)
        yield make.case(op, "keep", make.normal(2, 3, 4), ints(-1, 0))
        yield make.case(op, "drop", make.normal(2, 3, 4), ints(1), keepdims=0)
        yield make.case(op, "nothing", make.normal(2, 3), ints(), noop_with_empty_axes=1)
    for op in ("Softmax", "LogSoftmax"):
        yield make.case(op, "default", make.normal(3, 4) * 5)
        yield make.case(op, "axis", make.normal(2, 3, 4) * 5, axis=1)


def _normalising(make: _Maker) -> Iterator[Case]:
    for label, axis, shape in (("last", -1, (5,)), ("two", 1, (4, 5)), ("broadcast", 1, (5,))):
        data = (make.normal(3, 4, 5) + 2, make.normal(*shape))
        yield make.case("LayerNormalization", label, *data, make.normal(*shape), axis=axis, epsilon=2.0**-17)
        yield make.case("RMSNormalization", label, *data, axis=axis, epsilon=2.0**-10)
    statistics = make.normal(3, 5), make.normal(5)
    yield make.case("LayerNormalization", "statistics", *statistics, outputs=3, epsilon=2.0**-17)


def _windows(make: _Maker) -> Iterator[Case]:
    image, kernel = (2, 4, 9, 8), (6, 4, 3, 3)
    yield make.case("Conv", "plain", make.normal(*image), make.normal(*kernel), make.normal(6), kernel_shape=(3, 3))
    yield make.case(
        "Conv",
        "pads",
        make.normal(*image),
        make.normal(*kernel),
        pads=(1, 0, 2, 1),
        strides=(2, 1),
        kernel_shape=(3, 3),
    )
    yield make.case(
        "Conv", "same_pads", make.normal(*image), make.normal(*kernel), pads=(1, 1, 1, 1), kernel_shape=(3, 3)
    )
    yield make.case("Conv", "dilated", make.normal(*image), make.normal(*kernel), dilations=(2, 3), kernel_shape=(3, 3))
    yield make.case("Conv", "grouped", make.normal(*image), make.normal(6, 2, 3, 3), make.normal(6), group=2)
    for auto in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield make.case(
            "Conv",
            auto,
            make.normal(*image),
            make.normal(6, 4, 2, 3),
            auto_pad=auto,
            strides=(2, 2),
            kernel_shape=(2, 3),
        )
    yield make.case("Conv", "1d", make.normal(2, 3, 9), make.normal(4, 3, 3), make.normal(4), pads=(1, 2), strides=(2,))
    yield make.case("MaxPool", "plain", make.normal(*image), kernel_shape=(2, 2), strides=(2, 2))
    yield make.case("MaxPool", "pads", make.normal(*image), kernel_shape=(3, 2), strides=(2, 1), pads=(1, 0, 1, 1))
    yield make.case("MaxPool", "dilated", make.normal(*image), kernel_shape=(3, 2), dilations=(2, 3), strides=(2, 1))
    yield make.case("MaxPool", "overlap", make.normal(*image), kernel_shape=(3, 3))
    yield make.case("MaxPool", "same", make.normal(*image), kernel_shape=(3, 3), strides=(2, 2), auto_pad="SAME_UPPER")
    yield make.case("GlobalAveragePool", "image", make.normal(*image))


def _losses(make: _Maker) -> Iterator[Case]:
    labels = np.array([0, 2, 4, 2, 1, 3])
    for reduction in ("none", "sum", "mean"):
        for label, weights, more in (
            ("plain", None, {}),
            ("weights", make.positive(5), {}),
            ("ignored", None, {"ignore_index": 2}),
            ("both", make.positive(5), {"ignore_index": -7}),
        ):
            aims = np.where(labels == 2, -7, labels) if label == "both" else labels
            inputs = (make.normal(6, 5) * 3, aims) if weights is None else (make.normal(6, 5) * 3, aims, weights)
            yield make.case("SoftmaxCrossEntropyLoss", f"{reduction}_{label}", *inputs, reduction=reduction, **more)
    yield make.case(
        "SoftmaxCrossEntropyLoss", "images", make.normal(2, 5, 3, 4), make.integers(0, 5, 2, 3, 4), outputs=2
    )


def _attending(make: _Maker) -> Iterator[Case]:
    def flat(heads: int = 2) -> tuple[np.ndarray, ...]:
        return make.normal(2, 5, 4 * 3), make.normal(2, 5, heads * 3), make.normal(2, 5, heads * 3)

    three = {"q_num_heads": 4, "kv_num_heads": 4}
    grouped = {"q_num_heads": 4, "kv_num_heads": 2}
    cross = (make.normal(2, 4, 5, 3), make.normal(2, 2, 7, 3), make.normal(2, 2, 7, 6))
    mask = make.chosen(5, 5) | np.eye(5, dtype=bool)
    blind = mask.copy()
    blind[3] = False
    yield make.case("Attention", "3d", *flat(4), **three)
    yield make.case("Attention", "3d_causal", *flat(4), is_causal=1, **three)
    yield make.case("Attention", "3d_grouped", *flat(), is_causal=1, scale=0.25, **grouped)
    yield make.case("Attention", "cross", *cross)
    yield make.case("Attention", "cross_causal", *cross, is_causal=1)
    square = (make.normal(2, 4, 5, 3), make.normal(2, 2, 7, 3), make.normal(2, 2, 7, 3))
    yield make.case("Attention", "longer_keys_causal", *square, is_causal=1)
    yield make.case("Attention", "window", *square, left_window_size=1, right_window_size=2)
    yield make.case("Attention", "cross_mask", *cross, make.normal(2, 1, 5, 7))
    yield make.case("Attention", "short_mask", *cross, make.chosen(5, 4) | np.eye(5, 4, dtype=bool), is_causal=1)
    yield make.case("Attention", "bool_mask", *flat(4), mask, **three)
    yield make.case("Attention", "blind_row", *flat(4), blind, **three)
    yield make.case("Attention", "float_mask_causal", *flat(4), make.normal(4, 5, 5), is_causal=1, **three)


def _rotating(make: _Maker) -> Iterator[Case]:
    for pairs in (0, 1):
        places, heads = make.integers(0, 9, 2, 5), make.normal(2, 3, 5, 8)
        op, flat, wide = (
            "RotaryEmbedding",
            {"num_heads": 3, "interleaved": pairs},
            (make.normal(9, 4), make.normal(9, 4)),
        )
        yield make.case(op, f"4d_{pairs}", heads, *wide, places, interleaved=pairs)
        tables = make.normal(2, 5, 4), make.normal(2, 5, 4)
        yield make.case(op, f"3d_{pairs}", make.normal(2, 5, 24), *tables, **flat)
        tables = make.normal(9, 2), make.normal(9, 2)
        yield make.case(op, f"partial_{pairs}", make.normal(2, 5, 24), *tables, places, rotary_embedding_dim=4, **flat)

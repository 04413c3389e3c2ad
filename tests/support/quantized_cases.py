"""Quantisation beyond ONNX's suite, judged by ONNX's reference evaluator or by numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from number_cases import Case

from stackproof.backends.values import Narrow


def _grid(ratio: np.ndarray, zero: np.ndarray, dtype: str) -> np.ndarray:
    bounds = np.iinfo(dtype)
    return np.clip(np.rint(ratio) + zero, bounds.min, bounds.max).astype(dtype)


def quantized_cases() -> list[Case]:
    """Return the cases."""
    draw = np.random.default_rng(5)
    data = (draw.standard_normal((3, 7)) * 40).astype(np.float32)
    blocks = (draw.random((3, 3)) + 0.5).astype(np.float32)
    spread = np.repeat(blocks, 3, axis=1)[:, :7]
    zeros = draw.integers(-5, 5, (3, 3)).astype(np.int8)
    scale = np.float32(0.5)
    return [
        Case(
            "blocks that do not divide the axis",
            "QuantizeLinear",
            (data, blocks, zeros),
            _grid(data / spread, np.repeat(zeros, 3, axis=1)[:, :7], "int8"),
            {"axis": 1, "block_size": 3},
        ),
        Case(
            "uint8 where nothing is stated", "QuantizeLinear", (data, scale), _grid(data / scale, np.uint8(0), "uint8")
        ),
        Case(
            "a stated type",
            "QuantizeLinear",
            (data, scale),
            _grid(data / scale, np.int16(0), "int16"),
            {"output_dtype": 5},
        ),
        Case(
            "float6",
            "QuantizeLinear",
            (data, np.float32(4.0)),
            Narrow((data / 4).astype(ml_dtypes.float6_e3m2fn).astype(np.float32), "float6e3m2"),
            {"output_dtype": 28},
        ),
        Case(
            "float8 beyond its largest number",
            "QuantizeLinear",
            (np.array([1e6, -1e6, 3.0], np.float32), np.float32(1.0)),
            Narrow(np.array([np.inf, -np.inf, 3.0], np.float32), "float8e5m2"),
            {"output_dtype": 19, "saturate": 0},
        ),
        Case(
            "a wider division",
            "QuantizeLinear",
            (np.array([2049.0], np.float32), np.float16(1.0)),
            np.array([2049], np.int16),
            {"precision": 1, "output_dtype": 5},
        ),
        Case(
            "int32 without a zero point",
            "DequantizeLinear",
            (np.array([-7, 5], np.int32), np.float32(0.25)),
            np.array([-1.75, 1.25], np.float32),
        ),
        Case(
            "a stated output type",
            "DequantizeLinear",
            (np.array([-7, 5], np.int8), np.float32(0.25), np.int8(1)),
            np.array([-2.0, 1.0], np.float16),
            {"output_dtype": 10},
        ),
        Case(
            "a scale that is a power of two only",
            "DequantizeLinear",
            (np.array([-7, 5], np.int8), Narrow(np.array(0.25, np.float32), "float8e8m0")),
            np.array([-1.75, 1.25], np.float32),
            {"output_dtype": 1},
        ),
        *_products(),
    ]


def _products() -> list[Case]:
    draw = np.random.default_rng(6)
    left = draw.integers(0, 256, (2, 3, 4)).astype(np.uint8)
    right = draw.integers(-128, 128, (4, 5)).astype(np.int8)
    rows, columns = np.array([1, 20, 255], np.uint8), np.array([-3, 0, 1, 7, -128], np.int8)
    centred = (left[0].astype(np.int32) - rows[:, None]) @ (right.astype(np.int32) - columns)
    scales = (np.array([0.5, 0.25, 2.0], np.float32), np.array([1, 0.5, 0.25, 2, 1], np.float32))
    ratio = centred * (scales[0][:, None] * scales[1] / np.float32(64))
    zero = np.uint8(3)
    return [
        Case("zero points per row and column", "MatMulInteger", (left[0], right, rows, columns), centred),
        Case(
            "a product of vectors",
            "MatMulInteger",
            (left[0, 0], right[:, 0]),
            np.int32(left[0, 0].astype(int) @ right[:, 0]),
        ),
        Case(
            "scales per row and column",
            "QLinearMatMul",
            (left[0], scales[0], rows, right, scales[1], columns, np.float32(64), zero),
            np.clip(np.rint(ratio) + 3, 0, 255).astype(np.uint8),
        ),
    ]

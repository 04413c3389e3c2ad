"""What operators on numbers give beyond ONNX's suite: by numpy's own arithmetic, ml_dtypes' casts, and formulas."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from stackproof.backends.values import Narrow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WIDE = ("uint16", "uint32", "uint64")
_NARROW = {
    "float8e4m3fn": (17, ml_dtypes.float8_e4m3fn),
    "float8e4m3fnuz": (18, ml_dtypes.float8_e4m3fnuz),
    "float8e5m2": (19, ml_dtypes.float8_e5m2),
    "float8e5m2fnuz": (20, ml_dtypes.float8_e5m2fnuz),
    "float4e2m1": (23, ml_dtypes.float4_e2m1fn),
    "float6e2m3": (27, ml_dtypes.float6_e2m3fn),
    "float6e3m2": (28, ml_dtypes.float6_e3m2fn),
}


@dataclass(frozen=True)
class Case:
    """One operator application and the exact output."""

    name: str
    op: str
    inputs: tuple[Any, ...]
    wanted: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def whole_cases() -> list[Case]:
    """Return integer arithmetic at the ends of the wide unsigned dtypes."""
    return [case for dtype in WIDE for case in (*_elements(dtype), *_reductions(dtype))]


def _ends(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    top = np.iinfo(dtype).max
    left = np.array([0, 1, 5, top // 2, top // 2 + 1, top - 1, top, top], dtype)
    right = np.array([1, top, 3, 2, top // 2 + 1, top, top, top // 2 + 2], dtype)
    return left, right


def _elements(dtype: str) -> list[Case]:
    left, right = _ends(dtype)
    functions: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
        "Add": np.add,
        "Sub": np.subtract,
        "Mul": np.multiply,
        "Div": np.floor_divide,
        "Mod": np.mod,
        "Max": np.maximum,
        "Min": np.minimum,
        "Less": np.less,
        "GreaterOrEqual": np.greater_equal,
        "BitwiseXor": np.bitwise_xor,
    }
    cases = [Case(f"{op}-{dtype}", op, (left, right), function(left, right)) for op, function in functions.items()]
    shifts = np.arange(len(left)).astype(dtype)
    return [
        *cases,
        Case(f"BitShift-{dtype}", "BitShift", (left, shifts), left >> shifts, {"direction": "RIGHT"}),
        Case(f"Clip-{dtype}", "Clip", (left, np.array(left[2]), np.array(left[5])), np.clip(left, left[2], left[5])),
        Case(f"BitwiseNot-{dtype}", "BitwiseNot", (left,), np.bitwise_not(left)),
    ]


def _reductions(dtype: str) -> list[Case]:
    left, right = _ends(dtype)
    table = np.stack((left, right))
    axes = np.array([1])
    keep = {"keepdims": 0}
    return [
        Case(f"ReduceMax-{dtype}", "ReduceMax", (table, axes), table.max(1), keep),
        Case(f"ReduceMin-{dtype}", "ReduceMin", (table, axes), table.min(1), keep),
        Case(f"ReduceSum-{dtype}", "ReduceSum", (table, axes), table.sum(1, dtype=dtype), keep),
        Case(f"ReduceProd-{dtype}", "ReduceProd", (table, axes), table.prod(1, dtype=dtype), keep),
        Case(f"ArgMax-{dtype}", "ArgMax", (table,), table.argmax(1), {"axis": 1, "keepdims": 0}),
        Case(f"CumSum-{dtype}", "CumSum", (table, np.array(1)), table.cumsum(1, dtype=dtype)),
        Case(f"MatMul-{dtype}", "MatMul", (table, table.T), table @ table.T),
        Case(f"Einsum-{dtype}", "Einsum", (table, table), (table * table).T, {"equation": "ab,ab->ba"}),
    ]


def cast_cases() -> list[Case]:
    """Return casts to each narrow float: each of its values, what lies between two of them, and what is too large."""
    return [case for name in _NARROW for case in _casts(name)]


def _casts(name: str) -> list[Case]:
    number, dtype = _NARROW[name]
    values = _around(name)
    saturated = np.clip(values, float(ml_dtypes.finfo(dtype).min), float(ml_dtypes.finfo(dtype).max))
    cases = [
        Case(
            f"{name}-from-{kind}",
            "Cast",
            (values.astype(kind),),
            _rounded(saturated.astype(kind), name),
            {"to": number},
        )
        for kind in ("float32", "float64")
    ]
    if name.startswith("float8"):
        exact = Case(f"{name}-unsaturated", "Cast", (values,), _rounded(values, name), {"to": number, "saturate": 0})
        cases.append(exact)
    return cases


def _around(name: str) -> np.ndarray:
    """Return a format's own values, the middle of each two, what lies next to those, and special ones; float32."""
    _, dtype = _NARROW[name]
    bits = 8 * np.dtype(dtype).itemsize
    own = np.arange(2**bits, dtype=np.uint8).view(dtype).astype(np.float32)
    own = np.unique(own[np.isfinite(own)])
    middles = (own[1:] + own[:-1]) / 2
    near = [np.nextafter(middles, np.float32(end)) for end in (-np.inf, np.inf)]
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-30, -1e-30, 1e30, 2 * own[-1]], np.float32)
    return np.concatenate([own, middles, *near, special]).astype(np.float32)


def _rounded(values: np.ndarray, name: str) -> Narrow:
    rounded = values.astype(_NARROW[name][1]).astype(np.float32)
    if name in ("float4e2m1", "float6e2m3", "float6e3m2"):
        # Nothing in these formats stands for what is not a number.
        rounded = np.where(np.isnan(values), np.float32(0), rounded)
    return Narrow(rounded, name)


def integer_cases() -> list[Case]:
    """Return casts of integers to fewer bits, of which the high ones are dropped."""
    whole = np.arange(-40, 300, dtype=np.int32)
    return [
        Case(f"{name}-from-int32", "Cast", (whole,), Narrow(whole.astype(dtype).astype(carrier), name), {"to": number})
        for name, number, dtype, carrier in (
            ("uint4", 21, ml_dtypes.uint4, "uint8"),
            ("int4", 22, ml_dtypes.int4, "int8"),
            ("uint2", 25, ml_dtypes.uint2, "uint8"),
            ("int2", 26, ml_dtypes.int2, "int8"),
        )
    ]


def scale_cases() -> list[Case]:
    """Return casts to the scale format, which has powers of two only."""
    values = np.array([1.0, 1.25, 1.5, 1.75, 3.0, 1e-3, np.nan], np.float32)
    up = np.array([1, 2, 2, 2, 4, 2.0**-9, np.nan], np.float32)
    down = np.array([1, 1, 1, 1, 2, 2.0**-10, np.nan], np.float32)
    near = np.array([1, 1, 2, 2, 4, 2.0**-10, np.nan], np.float32)
    return [
        Case(f"scale-{mode}", "Cast", (values,), Narrow(wanted, "float8e8m0"), {"to": 24, "round_mode": mode})
        for mode, wanted in (("up", up), ("down", down), ("nearest", near))
    ]


@dataclass(frozen=True)
class Formula:
    """An operator on float64 numbers and what it is by a formula, to the last digits."""

    op: str
    function: Callable[[np.ndarray], np.ndarray]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.op


_erf = np.vectorize(math.erf)
_SELU_ALPHA, _SELU_GAMMA = float(np.float32(1.67326319217681884765625)), float(np.float32(1.05070102214813232421875))


def _gelu(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.longdouble)
    return np.asarray(0.5 * wide * (1 + _erf(x / math.sqrt(2)))).astype(np.float64)


def _elu(x: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


FORMULAS = (
    Formula("Erf", _erf),
    Formula("Gelu", _gelu),
    Formula(
        "Gelu", lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), {"approximate": "tanh"}
    ),
    Formula("Softplus", lambda x: np.logaddexp(x, 0)),
    Formula("Mish", lambda x: x * np.tanh(np.logaddexp(x, 0))),
    Formula("Selu", lambda x: _SELU_GAMMA * _elu(x, _SELU_ALPHA)),
    Formula("Elu", functools.partial(_elu, alpha=0.3), {"alpha": 0.3}),
    Formula("Celu", lambda x: np.where(x > 0, x, 0.3 * np.expm1(np.minimum(x, 0) / 0.3)), {"alpha": 0.3}),
    Formula("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    Formula("HardSigmoid", lambda x: np.clip(0.3 * x + 0.4, 0, 1), {"alpha": 0.3, "beta": 0.4}),
    Formula("LeakyRelu", lambda x: np.where(x > 0, x, 0.3 * x), {"alpha": 0.3}),
    Formula("ThresholdedRelu", lambda x: np.where(x > 0.3, x, 0), {"alpha": 0.3}),
    Formula("Swish", lambda x: x / (1 + np.exp(-0.3 * x)), {"alpha": 0.3}),
)

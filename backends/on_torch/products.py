"""PyTorch rules: products of matrices, sums over products, determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..einsums import explicit
from ..nodes import optional
from ..registry import rule
from .arithmetic import pair
from .unsigned import wrapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]


@rule("MatMul", "torch")
def _matmul(inputs: Inputs, _attributes: Attributes) -> Any:
    return matmul(*pair(inputs))


def matmul(left: Any, right: Any) -> Any:
    """Multiply as numpy does, in any dtype."""
    return wrapping(torch.matmul, left, right)


@rule("Gemm", "torch")
def _gemm(inputs: Inputs, attributes: Attributes) -> Any:
    left = inputs[0].t() if attributes.get("transA", 0) else inputs[0]
    right = inputs[1].t() if attributes.get("transB", 0) else inputs[1]
    alpha, beta, addend = attributes.get("alpha", 1.0), attributes.get("beta", 1.0), optional(inputs, 2)
    if not left.dtype.is_floating_point:
        return _whole_gemm(left, right, addend, alpha, beta)
    if addend is not None:
        return torch.addmm(addend, left, right, beta=beta, alpha=alpha)
    return alpha * (left @ right) if alpha != 1.0 else left @ right


def _whole_gemm(left: Any, right: Any, addend: Any, alpha: float, beta: float) -> Any:
    product = wrapping(torch.matmul, left, right)
    if alpha == beta == 1.0:
        return product if addend is None else wrapping(torch.add, product, addend)
    scaled = alpha * product.double()
    return (scaled if addend is None else scaled + beta * addend.double()).to(left.dtype)


@rule("Einsum", "torch")
def _einsum(inputs: Inputs, attributes: Attributes) -> Any:
    equation = explicit(attributes["equation"])
    return wrapping(lambda *factors: torch.einsum(equation, *factors), *inputs)


@rule("Det", "torch")
def _det(inputs: Inputs, _attributes: Attributes) -> Any:
    data = inputs[0]
    wide = data if data.dtype == torch.float64 else data.float()
    return torch.linalg.det(wide).to(data.dtype)

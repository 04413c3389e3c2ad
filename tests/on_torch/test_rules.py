from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from operator_cases import Target
from operator_contract import OperatorContract

from stackproof.backends.on_torch import rules

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

assert rules.__all__


def _to_numpy(tensor: Any) -> np.ndarray:
    value: np.ndarray = tensor.detach().numpy()
    return value


def _pullback(function: Callable[[list[Any]], Any], tensors: list[Any], weights: Any) -> list[Any]:
    leaves = [tensor.detach().requires_grad_(requires_grad=True) for tensor in tensors]
    return list(torch.autograd.grad(function(leaves), leaves, weights))


class TestRules(OperatorContract):
    target = Target("torch", torch.tensor, _to_numpy, _pullback)

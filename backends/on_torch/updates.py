"""PyTorch rules: ONNX's optimizer operators."""

from __future__ import annotations

import functools

import torch

from ..registry import rule
from ..updating import Functions, adagrad, adam, momentum

_FUNCTIONS = Functions(torch.sqrt, torch.expm1, torch.where, lambda value, like: value.to(like.dtype))

for _op, _update in {"Adagrad": adagrad, "Adam": adam, "Momentum": momentum}.items():
    rule(_op, "torch")(functools.partial(_update, functions=_FUNCTIONS))

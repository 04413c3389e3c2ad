"""Evaluating a program on PyTorch, with every dtype as the program states it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..lower import Lowered
from ..values import Narrow
from . import rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..program import Program

__all__ = ["Evaluation", "rules"]


class Evaluation:
    """A program that is evaluated and not trained.

    Args:
        program: What to evaluate; its outputs, and not its loss, count.
        compile: Whether `torch.compile` is used.

    Raises:
        UnsupportedError: An operator has no rule here.
    """

    def __init__(self, program: Program, *, compile: bool = False) -> None:  # noqa: A002 - the spec's own word
        self._program = program
        self._lowered = Lowered(program, "torch", "stated")
        arrays = {**program.constants, **program.state, **program.parameters}
        self._tensors = {name: to_device(stated(value, program.narrow.get(name))) for name, value in arrays.items()}
        forward = self._forward
        self._call = torch.compile(forward, fullgraph=True, dynamic=False) if compile else forward

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Evaluate.

        Args:
            inputs: Arrays, `Narrow` arrays, lists of them (sequences) or None (empty optionals) by name.

        Returns:
            The same kinds by name of output.
        """
        with torch.no_grad():
            made = self._call({name: to_device(value) for name, value in inputs.items()})
        return {name: to_host(value) for name, value in made.items()}

    def gradients(
        self, inputs: Mapping[str, Any], wrt: Sequence[str], cotangents: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return the gradient of the sum over outputs of `output * cotangent`, by name of input or initial tensor."""
        placed = {**self._tensors, **{name: to_device(value) for name, value in inputs.items()}}
        for name in wrt:
            placed[name] = placed[name].detach().requires_grad_(requires_grad=True)
        made = self._lowered(placed, {})
        moving = [placed[name] for name in wrt]
        total = sum((made[name] * to_device(value)).sum() for name, value in cotangents.items())
        if not total.requires_grad:
            return {name: to_host(torch.zeros_like(placed[name])) for name in wrt}
        found = torch.autograd.grad(total, moving, allow_unused=True, materialize_grads=True)
        return {name: to_host(gradient) for name, gradient in zip(wrt, found)}

    def _forward(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        known = self._lowered(self._tensors, inputs)
        return {name: known[name] for name in self._program.outputs}


def stated(value: np.ndarray, narrow: str | None) -> Any:
    """Return an initial tensor as what it stands for."""
    return value if narrow is None else Narrow(value, narrow)


def to_device(value: Any) -> Any:
    """Return a host value as the rules take it."""
    if isinstance(value, list):
        return [to_device(entry) for entry in value]
    if value is None or isinstance(value, torch.Tensor):
        return value
    if isinstance(value, Narrow):
        carrier = torch.tensor(value.values)
        return carrier.to(torch.bfloat16) if value.dtype == "bfloat16" else Narrow(carrier, value.dtype)
    return torch.tensor(value)


def to_host(value: Any) -> Any:
    """Return what a rule made as a host value."""
    if isinstance(value, (list, tuple)):
        return [to_host(entry) for entry in value]
    if isinstance(value, Narrow):
        return Narrow(np.asarray(to_host(value.values)), value.dtype)
    if value is None:
        return None
    if value.dtype == torch.bfloat16:
        return Narrow(value.detach().cpu().float().numpy(), "bfloat16")
    return value.detach().cpu().numpy()

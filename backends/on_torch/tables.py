"""Fixed tensors inside compiled PyTorch programs: computed by numpy from shapes and attributes, and never traced."""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, Callable

import torch

from ..kit import computed
from .gates import constant_while_compiled

if TYPE_CHECKING:
    import numpy as np

# How many different tables one compiled program may have.
_MOST = 2048
_numbers = count()


def table(function: Callable[..., np.ndarray], *arguments: Any, beside: Any) -> Any:
    """Return what a function of shapes and attributes gives, on the device of the tensor beside it.

    The compiler takes over a fixed result under the name of the function that gave it, and no name twice: each table
    comes from a function of its own.
    """
    return _SLOTS[_slot(function, arguments)](function, arguments).to(beside.device)


@constant_while_compiled
def _slot(function: Callable[..., np.ndarray], arguments: tuple[Any, ...]) -> int:
    return _numbered(function, arguments)


@lru_cache(maxsize=_MOST)
def _numbered(_function: Callable[..., np.ndarray], _arguments: tuple[Any, ...]) -> int:
    return next(_numbers) % _MOST


@lru_cache(maxsize=_MOST)
def _tensor(function: Callable[..., np.ndarray], arguments: tuple[Any, ...]) -> Any:
    with torch.inference_mode(mode=False):
        return torch.tensor(computed(function, arguments))


def _named(number: int) -> Callable[..., Any]:
    def fixed(function: Callable[..., np.ndarray], arguments: tuple[Any, ...]) -> Any:
        return _tensor(function, arguments)

    name = f"table_{number}"
    fixed.__name__ = name
    fixed.__code__ = fixed.__code__.replace(co_name=name)
    return constant_while_compiled(fixed)


_SLOTS = tuple(_named(number) for number in range(_MOST))

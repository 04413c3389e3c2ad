"""Running a PyTorch model beside its export: without dropout, whose draws differ, and in float64 for its gradient."""

from __future__ import annotations

import copy
import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .derivatives import check_gradients, draw, moved
from .torch_model import array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from numpy.typing import NDArray

Module: TypeAlias = Any
Array: TypeAlias = Any
Tree: TypeAlias = Any
Function: TypeAlias = Any
"""PyTorch's own objects: it is not installed where types are checked."""


def run_without_dropout(
    torch: ModuleType, model: Module, example_inputs: Tree
) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Run a copy of a model in training mode, with nothing dropped.

    Returns:
        Its inputs and its outputs, flattened, in the order of an export.
    """
    with _no_dropout(torch), torch.no_grad():
        outputs = _call(_twin(model), example_inputs)
    return [_numpy(v) for v in _leaves(torch, example_inputs)], [_numpy(v) for v in _leaves(torch, outputs)]


def check_model_gradients(torch: ModuleType, source: str, model: Module, example_inputs: Tree) -> None:
    """Compare a model's gradient with difference quotients of what it computes, in float64.

    Raises:
        InputError: They differ; names the parameters.
    """
    twin = _twin(model).double()
    inputs = _widen(torch, example_inputs)
    trained = {name: value for name, value in twin.named_parameters() if value.requires_grad}
    if not trained:
        return
    values = moved({name: _numpy(value) for name, value in trained.items()})

    def place(name: str, value: NDArray[np.float64]) -> None:
        with torch.no_grad():
            trained[name].copy_(torch.from_numpy(value))

    def loss(name: str, value: NDArray[np.float64]) -> float:
        place(name, value)
        with torch.no_grad():
            result = float(_scalar(torch, twin, inputs))
        place(name, values[name])
        return result

    for name, value in values.items():
        place(name, value)
    with _no_dropout(torch):
        found = torch.autograd.grad(_scalar(torch, twin, inputs), list(trained.values()), allow_unused=True)
        gradients = {
            name: np.zeros_like(values[name]) if gradient is None else _numpy(gradient)
            for name, gradient in zip(trained, found, strict=True)
        }
        check_gradients(source, loss, values, gradients)


def _scalar(torch: ModuleType, model: Module, inputs: Tree) -> Array:
    total = torch.zeros((), dtype=torch.float64)
    for number, output in enumerate(_leaves(torch, _call(model, inputs))):
        if output.is_floating_point():
            total = total + (output.double() * torch.from_numpy(draw(number, output.shape))).sum()
    return total


def _twin(model: Module) -> Module:
    """Return a copy whose layers drop nothing inside."""
    twin = copy.deepcopy(model)
    for module in twin.modules():
        if isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0
    return twin


def _call(model: Module, inputs: Tree) -> Tree:
    if isinstance(inputs, dict):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs)


def _leaves(torch: ModuleType, tree: Tree) -> list[Any]:
    return [leaf for leaf in _trees().tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _widen(torch: ModuleType, tree: Tree) -> Tree:
    def widen(leaf: Array) -> Tree:
        return leaf.double() if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf

    return _trees().tree_map(widen, tree)


def _trees() -> ModuleType:
    """Return what PyTorch's exporter flattens inputs and outputs with."""
    return importlib.import_module("torch.utils._pytree")


def _numpy(value: Array) -> NDArray[Any]:
    return np.array(array(value))


@contextmanager
def _no_dropout(torch: ModuleType) -> Iterator[None]:
    """Have every dropout, also that inside attention, pass on what it gets."""
    functional = torch.nn.functional
    places = {functional.scaled_dot_product_attention: 4, functional.multi_head_attention_forward: 10}

    def still(_: Tree, function: Function, types: Tree, args: Tree = (), kwargs: Tree = None) -> Tree:
        del types
        kwargs, place = dict(kwargs or {}), places.get(function)
        if place is not None and len(args) > place:
            args = (*args[:place], 0.0, *args[place + 1 :])
        elif place is not None:
            kwargs["dropout_p"] = 0.0
        elif "dropout" in getattr(function, "__name__", ""):
            return args[0] if args else kwargs["input"]
        return function(*args, **kwargs)

    with type("Still", (torch.overrides.TorchFunctionMode,), {"__torch_function__": still})():
        yield

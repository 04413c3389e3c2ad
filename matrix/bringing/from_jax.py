"""From a JAX function of its parameters to an ONNX file that stays trainable: each leaf an initializer, by its path."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx

from ...backends.errors import Fault, InputError, UnsupportedError
from .derivatives import check_gradients, draw, moved
from .modes import BATCH_NORM
from .origin import Origin, write_origin
from .placing import place, rename_outputs
from .proving import check_outputs, check_tensors
from .traps import find_traps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

    from numpy.typing import NDArray
    from onnx import ModelProto

    from .origin import Role

Tree: TypeAlias = Any
"""A pytree of JAX's own arrays: it is not installed where types are checked."""

OPSET = 23
"""The newest operator set that jax2onnx writes by default, and the first with attention as an operator."""

_RANDOM = {
    "random_bits",
    "random_seed",
    "random_wrap",
    "random_unwrap",
    "threefry2x32",
    "rng_bit_generator",
    "rng_uniform",
}


def export_jax(
    function: Callable[..., Tree],
    params: Tree,
    inputs: Sequence[Tree],
    path: str | Path,
    *,
    input_names: Sequence[str] = (),
    check: bool = True,
) -> Origin:
    """Export `function(params, *inputs)` to ONNX so that it trains as it does in JAX.

    Every leaf of `params` is one initializer, named by its path, such as `blocks.0.w`: floating-point ones are trained,
    others are not. JAX knows no tied leaves: an array that stands at two places is two parameters, here as there.

    Args:
        function: A pure function that returns an array or a pytree of arrays.
        params: A pytree of arrays.
        inputs: Example arrays, one for each further argument.
        path: The file to write.
        input_names: Names for the further arguments; `in_0` and so on otherwise.
        check: Whether the export is run and compared with the function, and the function's gradient with what it
            computes.

    Returns:
        What was written into the metadata.

    Raises:
        UnsupportedError: JAX or jax2onnx is missing.
        InputError: The function cannot be carried, or the export is not the function; no file is left.
    """
    jax, jax2onnx = _packages()
    source = getattr(function, "__name__", "function")
    values = {name: np.asarray(leaf) for name, leaf in _leaves(jax, params)}
    feeds = [np.asarray(value) for value in inputs]
    names = [*input_names, *(f"in_{n}" for n in range(len(input_names), len(feeds)))]
    _check_random(jax, source, function, (params, *feeds))
    proto = _export(jax, jax2onnx, function, params, feeds)
    roles: dict[str, Role] = {n: "parameter" if v.dtype.kind in "fV" else "buffer" for n, v in values.items()}
    origin = Origin(source=f"jax {jax.__version__}", tensors=place(proto, values, roles, names))
    outputs = jax.tree_util.tree_leaves(jax.jit(function)(params, *feeds))
    rename_outputs(proto, [f"output_{n}" for n in range(len(outputs))] if len(outputs) > 1 else ["output"])
    write_origin(proto, origin)
    onnx.checker.check_model(proto)
    check_tensors(source, proto, origin, values)
    if check:
        _check_outputs(source, proto, feeds, [np.asarray(value) for value in outputs])
        _check_gradients(jax, source, function, params, feeds)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(proto, path)
    return origin


def _packages() -> tuple[ModuleType, ModuleType]:
    try:
        return importlib.import_module("jax"), importlib.import_module("jax2onnx")
    except ImportError as fault:
        what = f"exporting from JAX needs a package that is not installed ({fault.name}): pip install jax jax2onnx"
        raise UnsupportedError(what) from fault


def _leaves(jax: ModuleType, params: Tree) -> Iterator[tuple[str, Tree]]:
    """Yield the leaves of a pytree, each with its path."""
    for keys, leaf in jax.tree_util.tree_flatten_with_path(params)[0]:
        yield ".".join(_word(key) for key in keys) or "params", leaf


def _word(key: Tree) -> str:
    found = next(getattr(key, name) for name in ("key", "idx", "name") if hasattr(key, name))
    return str(found)


def _export(
    jax: ModuleType, jax2onnx: ModuleType, function: Callable[..., Tree], params: Tree, feeds: list[NDArray[Any]]
) -> ModelProto:
    leaves, form = jax.tree_util.tree_flatten(params)

    def flat(*arguments: Tree) -> Tree:
        whole = jax.tree_util.tree_unflatten(form, arguments[: len(leaves)])
        return tuple(jax.tree_util.tree_leaves(function(whole, *arguments[len(leaves) :])))

    shapes = [jax.ShapeDtypeStruct(np.shape(v), jax.numpy.asarray(v).dtype) for v in (*leaves, *feeds)]
    try:
        made: ModelProto = jax2onnx.to_onnx(flat, shapes, model_name="model", opset=OPSET)
    except Exception as fault:
        what = f"jax2onnx cannot export it ({type(fault).__name__}): {str(fault).strip() or 'no reason given'}"
        raise InputError(getattr(function, "__name__", "function"), [Fault("", what)]) from fault
    return made


def _check_random(jax: ModuleType, source: str, function: Callable[..., Tree], arguments: tuple[Tree, ...]) -> None:
    """Refuse random numbers: an export has one draw for ever, or none."""
    try:
        jaxpr = jax.make_jaxpr(function)(*arguments).jaxpr
    except Exception as fault:
        what = f"JAX cannot trace it as a pure function ({type(fault).__name__}): {fault}"
        raise InputError(source, [Fault("", what)]) from fault
    found = sorted(_RANDOM & set(_primitives(jaxpr)))
    if found:
        what = f"draws random numbers ({', '.join(found)}), which an export does not: leave dropout out of the function"
        raise InputError(source, [Fault("", what)])


def _primitives(jaxpr: Tree) -> Iterator[str]:
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                body = getattr(inner, "jaxpr", inner)
                if hasattr(body, "eqns"):
                    yield from _primitives(body)


def _check_outputs(source: str, proto: ModelProto, feeds: list[NDArray[Any]], outputs: list[NDArray[Any]]) -> None:
    try:
        check_outputs(source, proto, feeds, outputs)
    except InputError as fault:
        if any(trap.name == BATCH_NORM for trap in find_traps(proto)):
            what = "has a batch norm that jax2onnx wrote in inference mode: write it as a function of the batch"
            raise InputError(source, [*fault.faults, Fault("", what)]) from fault
        raise


def _check_gradients(
    jax: ModuleType, source: str, function: Callable[..., Tree], params: Tree, feeds: list[NDArray[Any]]
) -> None:
    """Compare the function's gradient with difference quotients of it, in float64."""
    leaves, form = jax.tree_util.tree_flatten(params)
    names = [name for name, _ in _leaves(jax, params)]
    whole = dict(zip(names, (np.asarray(leaf) for leaf in leaves), strict=True))
    values = moved({name: value.astype(np.float64) for name, value in whole.items() if value.dtype.kind in "fV"})
    wide = [feed.astype(np.float64) if feed.dtype.kind == "f" else feed for feed in feeds]

    def scalar(trained: Mapping[str, Tree]) -> Tree:
        full = jax.tree_util.tree_unflatten(form, [trained.get(name, whole[name]) for name in names])
        return _total(jax, function(full, *wide))

    with jax.enable_x64(new_val=True):
        compiled = jax.jit(scalar)
        gradients = {name: np.asarray(value) for name, value in jax.grad(scalar)(values).items()}
        check_gradients(source, lambda name, value: float(compiled({**values, name: value})), values, gradients)


def _total(jax: ModuleType, outputs: Tree) -> Tree:
    total = 0.0
    for number, output in enumerate(jax.tree_util.tree_leaves(outputs)):
        if jax.numpy.issubdtype(output.dtype, jax.numpy.floating):
            total = total + (output * draw(number, output.shape)).sum()
    return total

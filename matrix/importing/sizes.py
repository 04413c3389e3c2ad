"""The sizes of a model's inputs made concrete, and the shapes of all tensors that follow from them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from onnx import helper, shape_inference

from ...backends.errors import Fault, InputError, did_you_mean
from .checking import ONNX_DOMAINS
from .declared import example
from .inlining import is_function
from .limits import carries_values
from .misfits import first_misfit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from onnx import ModelProto, ValueInfoProto

# Operators whose output has their first input's shape, which ONNX does not infer.
_KEEPING: Final = frozenset({"GroupNormalization", "MeanVarianceNormalization"})


def fix_sizes(
    model: ModelProto, source: str, shapes: Mapping[str, tuple[int, ...]], batch: int, skip: Collection[str]
) -> None:
    """Give every input of a model its sizes.

    Args:
        model: The model to change.
        source: What the user called it.
        shapes: Sizes that the user gives, by input.
        batch: What an open first size is; 0 where it is not known.
        skip: Inputs that are tensors put aside.

    Raises:
        InputError: A size stays open, differs from the model's, or belongs to no input.
    """
    initial = {*skip, *(tensor.name for tensor in model.graph.initializer)}
    inputs = [entry for entry in model.graph.input if entry.name not in initial]
    names = [entry.name for entry in inputs]
    faults = [
        Fault(name, f"is no input of the model; {did_you_mean(name, names)}") for name in shapes if name not in names
    ]
    for entry in inputs:
        faults.extend(_fix(entry, shapes.get(entry.name), _named(inputs, shapes), batch))
    if faults:
        raise InputError(source, faults)


def infer(model: ModelProto, source: str) -> ModelProto:
    """Return a model with the shape of every tensor that ONNX can infer, from the inputs' sizes alone.

    Raises:
        InputError: Shapes do not fit each other; the message names the node.
    """
    model = _bare(model)
    try:
        return _completed(_inferred(model))
    except Exception as error:  # shape inference raises one of its own and RuntimeError
        what = " ".join(str(error).split())
        if _is_function(what):
            return shape_inference.infer_shapes(model, data_prop=carries_values(model))
        node, takes = first_misfit(model, what)
        raise InputError(source, [Fault(node, f"its shapes do not fit: {takes}{what}")]) from error


def _inferred(model: ModelProto) -> ModelProto:
    return shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=carries_values(model))


def _completed(model: ModelProto) -> ModelProto:
    """Infer once more with the shapes that ONNX itself does not infer: those of nodes that keep their input's."""
    graph = model.graph
    entries = (*graph.input, *graph.value_info, *graph.output)
    kinds = {e.name: e.type for e in entries if e.type.tensor_type.HasField("shape")}
    kinds |= {t.name: helper.make_tensor_type_proto(t.data_type, t.dims) for t in graph.initializer}
    kept = [node for node in graph.node if node.op_type in _KEEPING and node.domain in ONNX_DOMAINS]
    new = {n.output[0]: kinds[n.input[0]] for n in kept if n.input[0] in kinds and n.output[0] not in kinds}
    if not new:
        return model
    ends = {entry.name: entry for entry in graph.output}
    others = [entry for entry in graph.value_info if entry.name not in new]
    del graph.value_info[:]
    graph.value_info.extend(others)
    for name, kind in new.items():
        (ends[name] if name in ends else graph.value_info.add(name=name)).type.CopyFrom(kind)
    return _completed(_inferred(model))


def _is_function(message: str) -> bool:
    """Return whether it is about an operator that ONNX defines by others, where inference itself has faults."""
    found = re.search(r"op_type:\s*(\w+)", message)
    return found is not None and is_function(found[1])


def _fix(entry: ValueInfoProto, given: tuple[int, ...] | None, named: Mapping[str, int], batch: int) -> Iterator[Fault]:
    if not entry.type.HasField("tensor_type"):
        yield Fault(entry.name, "is a sequence or an optional, and a batch holds tensors only")
        return
    tensor = entry.type.tensor_type
    if not tensor.HasField("shape"):
        if given is None:
            yield Fault(entry.name, f"has no shape in the model: give its sizes, {example(entry.name)}")
            return
        tensor.CopyFrom(helper.make_tensor_type_proto(tensor.elem_type, given).tensor_type)
    sizes = tensor.shape.dim
    if given is not None and len(given) != len(sizes):
        yield Fault(entry.name, f"has {len(sizes)} sizes in the model and {len(given)} are given")
        return
    for axis, size in enumerate(sizes):
        fixed = size.dim_value if size.HasField("dim_value") else None
        wanted = given[axis] if given is not None else named.get(size.dim_param) if size.dim_param else None
        if wanted is None and fixed is None and axis == 0 and batch:
            wanted = batch
        if wanted is None and fixed is None:
            word = size.dim_param or "without a name"
            yield Fault(entry.name, f"its size {axis} ({word}) is open: give its sizes, {example(entry.name)}")
        elif wanted is not None and fixed is not None and wanted != fixed:
            yield Fault(entry.name, f"its size {axis} is {fixed} in the model, and {wanted} is given")
        elif fixed is None and wanted is not None:
            size.dim_value = wanted


def _named(inputs: list[ValueInfoProto], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return the sizes of named dimensions that follow from what is given for other inputs."""
    found: dict[str, int] = {}
    for entry in inputs:
        sizes = entry.type.tensor_type.shape.dim
        found.update(
            {size.dim_param: n for size, n in zip(sizes, shapes.get(entry.name, ()), strict=False) if size.dim_param}
        )
    return found


def _bare(model: ModelProto) -> ModelProto:
    """Return a model that says nothing of shapes but those of its inputs: what it says may be of other sizes."""
    bare = type(model)()
    bare.CopyFrom(model)
    known = {entry.name: entry for entry in model.graph.value_info}
    del bare.graph.value_info[:]
    for node in model.graph.node:
        if node.domain not in ONNX_DOMAINS:
            bare.graph.value_info.extend(known[name] for name in node.output if name in known)
    for entry in bare.graph.output:
        if entry.type.HasField("tensor_type"):
            entry.type.tensor_type.ClearField("shape")
    return bare

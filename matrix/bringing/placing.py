"""Parameters that an exporter took as inputs of the graph, made into initializers under the names that they have.

Exporters for inference bake a model's weights in as nameless constants, and fold what they can into them. What is an
input they leave alone: so every parameter is exported as one, and put back here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import helper, numpy_helper

from ...backends.errors import Fault, InputError
from .graph import walk
from .origin import Tensor
from .proving import dtype_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto

    from .origin import Role


def place(
    model: ModelProto, values: Mapping[str, NDArray[Any]], roles: Mapping[str, Role], input_names: Sequence[str]
) -> tuple[Tensor, ...]:
    """Turn a graph's first inputs into initializers, and name the others.

    Args:
        model: The graph, changed in place; its inputs are the tensors in order, and then those of a batch.
        values: The tensors by name, in the order in which they are inputs.
        roles: What each of them is.
        input_names: Names for the inputs of a batch; the last ones keep theirs where there are too few.

    Returns:
        The tensors, as they are written down; those that no node uses are not in the graph.

    Raises:
        InputError: The exporter dropped an input, so that nothing says which tensor is which.
    """
    given = [entry.name for entry in model.graph.input]
    if len(given) < len(values) + len(input_names):
        missing = len(values) + len(input_names) - len(given)
        raise InputError(model.graph.name, [Fault("", f"the exporter dropped {missing} of its inputs")])
    new = [*values, *input_names]
    _rename(model, dict(zip(given, new, strict=False)))
    del model.graph.input[: len(values)]
    used = _used(model)
    model.graph.initializer.extend(numpy_helper.from_array(v, name) for name, v in values.items() if name in used)
    return tuple(Tensor(name, v.shape, dtype_name(v), roles[name], used=name in used) for name, v in values.items())


def rename_outputs(model: ModelProto, names: Sequence[str]) -> None:
    """Give a graph's first outputs their names; a tensor that is two outputs, or an input, gets a copy of its own."""
    for entry, name in zip(model.graph.output, names, strict=False):
        model.graph.node.append(helper.make_node("Identity", [entry.name], [name]))
        entry.name = name


def _rename(model: ModelProto, names: Mapping[str, str]) -> None:
    taken = {name for node in walk(model.graph) for name in node.output} | {t.name for t in model.graph.initializer}
    moved = {name: f"{name}.inner" for name in taken & set(names.values())}
    names = {**moved, **names}
    for node in walk(model.graph):
        for side in (node.input, node.output):
            for position, name in enumerate(side):
                side[position] = names.get(name, name)
    for entry in [*model.graph.input, *model.graph.output, *model.graph.initializer, *model.graph.value_info]:
        entry.name = names.get(entry.name, entry.name)


def _used(model: ModelProto) -> set[str]:
    return {name for node in walk(model.graph) for name in node.input} | {entry.name for entry in model.graph.output}

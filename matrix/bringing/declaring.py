"""Say of an ONNX model what its file does not: what is one parameter, what are several, which traps to live with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...backends.errors import Fault, InputError, did_you_mean
from .origin import Origin, read_origin, write_origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import ModelProto


def declare(
    model: ModelProto,
    *,
    tied: Iterable[tuple[str, ...]] = (),
    independent: Iterable[str] = (),
    accepted: Iterable[str] = (),
) -> None:
    """Write into a model's metadata what only its user knows.

    Args:
        model: The model to change; save it afterwards.
        tied: Groups of initializers that are one parameter; of a single name, that it is shared on purpose.
        independent: Initializers that are parameters of their own: one that several layers share is split, one for
            each; those that only have equal values stay as they are.
        accepted: Names of traps to live with, such as `batch-norm-folded`: the graph is trained as it is.

    Raises:
        InputError: A name is of no initializer.
    """
    groups, names = tuple(tuple(group) for group in tied), tuple(independent)
    _check(model, [*names, *(name for group in groups for name in group)])
    origin = read_origin(model) or Origin()
    write_origin(model, replace(origin, tied=groups, independent=names, accepted=tuple(accepted)))


def _check(model: ModelProto, names: Iterable[str]) -> None:
    known = {tensor.name for tensor in model.graph.initializer}
    known |= {node.output[0] for node in model.graph.node if node.op_type == "Identity" and node.input[0] in known}
    faults = [
        Fault(name, f"no initializer of the model; {did_you_mean(name, known)}") for name in names if name not in known
    ]
    if faults:
        raise InputError("declared", faults)

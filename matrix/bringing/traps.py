"""Find the traps of any ONNX graph that is to be trained, and mend those that can be mended.

An export is made for inference, as a rule: what only matters for training is lost in it without a word. Each trap is
mended, or refused by name, or, where nothing is wrong or only the user can know, noted.

    traps = find_traps(model)
    refuse("model.onnx", traps)
    model = mend(model, traps)
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onnx import ModelProto

from . import leftovers, missing, modes, restoring, sharing
from .graph import View
from .mending import apply
from .origin import Origin, read_origin
from .torch_origin import read_torch_origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .trap import Trap

# What stackproof, and PyTorch's own exporter, call the source of a model from PyTorch.
_TORCH: Final = re.compile(r"(py)?torch ")


def find_traps(model: ModelProto) -> list[Trap]:
    """Look for every known trap.

    Args:
        model: A model whose functions are inlined and whose external data are loaded; it is not changed.

    Returns:
        What was found. Nothing is raised for it: `refuse` does that.

    Raises:
        InputError: The model's metadata hold an origin that cannot be read.
    """
    view, origin = View(model), known_origin(model)
    accepted = set(origin.accepted) if origin else set()
    return [_accept(trap) if trap.name in accepted else trap for trap in _all(view, origin)]


def mend(model: ModelProto, traps: Iterable[Trap]) -> ModelProto:
    """Return a model with its traps mended; where none is to be mended, the model itself, for it may be big.

    Args:
        model: The model that the traps were found in; it is not changed.
        traps: What `find_traps` found. Those that are noted or refused are left as they are.
    """
    mendable = [trap for trap in traps if trap.severity == "mended"]
    if not mendable:
        return model
    mended = ModelProto()
    mended.CopyFrom(model)
    for trap in mendable:
        apply(mended, trap)
    return mended


def known_origin(model: ModelProto) -> Origin | None:
    """Return what is known of the model that a graph was exported from: by stackproof, or by PyTorch's exporter."""
    ours, theirs = read_origin(model), read_torch_origin(model)
    if ours is None or ours.tensors or theirs is None:
        return ours or theirs
    return replace(theirs, tied=ours.tied, independent=ours.independent, accepted=ours.accepted)


def convention_of(model: ModelProto) -> str:
    """Return whose names and layouts a model's tensors have: `torch`, or an empty string where that is not known.

    The exporters for the other frameworks turn kernels around, and change names.
    """
    origin = known_origin(model)
    return "torch" if origin is not None and origin.tensors and _TORCH.match(origin.source) else ""


def trainable(model: ModelProto) -> frozenset[str] | None:
    """Return the names of the initializers that the original model trains, or None where that is not known.

    Args:
        model: A mended model.
    """
    origin = known_origin(model)
    if origin is None or not origin.tensors:
        return None
    present = {tensor.name for tensor in model.graph.initializer}
    split = {f"{name}.{n}" for name in origin.independent for n in range(1, len(present))}
    return frozenset(t.name for t in origin.tensors if t.role == "parameter" and t.name in present) | (split & present)


def _all(view: View, origin: Origin | None) -> Iterator[Trap]:
    exchanged = [] if origin is None else list(restoring.find_exchanged(view, origin))
    yield from exchanged
    yield from sharing.find_declared(view, origin, {trap.tensors[0] for trap in exchanged})
    yield from missing.find_folded(view, origin)
    folded = [name for trap in missing.find_folded(view, origin) for name in trap.tensors]
    restored = {name for trap in exchanged for name in trap.tensors}
    yield from missing.find_missing(view, origin, {*restored, *folded})
    yield from missing.find_frozen(view, origin)
    if origin is None or not origin.tensors:
        yield from sharing.find_merged(view, origin)
        yield from sharing.find_aliases(view, origin)
        yield from sharing.find_copies(view, origin)
        yield from sharing.find_lost(view)
    means = {trap.nodes[0]: trap.tensors[1] for trap in exchanged if trap.position == modes.MEAN}
    yield from modes.find_batch_norms(view, origin, means)
    yield from modes.find_dropouts(view, origin)
    yield from leftovers.find_arithmetic(view)
    yield from leftovers.find_strangers(view, origin, restored)


def _accept(trap: Trap) -> Trap:
    severity = "noted" if trap.severity == "refused" else trap.severity
    return replace(trap, severity=severity, message=f"{trap.message} (accepted)")

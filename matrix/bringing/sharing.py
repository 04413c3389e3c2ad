"""Traps of sharing in graphs that say nothing of their model: what is one parameter, and what only looks alike."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from .graph import FLOATING, SCALES, fills, is_lost
from .restoring import ASK, COPIED, LOST, MERGED
from .trap import Trap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from .graph import Use, View
    from .origin import Origin

_FEW = 3
"""A weight with fewer different values says nothing by being equal to another."""


def find_merged(view: View, origin: Origin | None) -> Iterator[Trap]:
    """Yield scales and biases that several layers share, with one value in all places: fresh ones, merged."""
    for name in view.tensors:
        uses = [use for use in view.direct.get(name, ()) if fills(use, SCALES)]
        if len(uses) > 1 and not is_declared(origin, name) and _is_fresh(view, name):
            places = tuple(dict.fromkeys(use.node.output[0] for use in uses))
            what = f"{name} is used by {len(uses)} layers ({', '.join(places)}) and all its values are equal"
            why = "an exporter may have merged parameters that only begin alike, and would train them as one"
            yield Trap(MERGED, "refused", f"{what}: {why}; {ASK}", places, (name,))


def find_aliases(view: View, origin: Origin | None) -> Iterator[Trap]:
    """Yield initializers that an Identity gives another parameter's name: PyTorch's older exporter merges so."""
    for node in view.nodes:
        if node.op_type == "Identity" and node.input[0] in view.tensors and not is_lost(node.output[0]):
            name, alias = node.input[0], node.output[0]
            if not is_declared(origin, alias) and not is_declared(origin, name):
                yield _alias(view, name, alias)


def find_copies(view: View, origin: Origin | None) -> Iterator[Trap]:
    """Yield weights of equal values, as they are or transposed: a tied weight, copied."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in view.weights():
        if not is_declared(origin, name) and _says_something(view, name):
            groups[_key(view, name)].append(name)
    for names in groups.values():
        if len(names) > 1:
            what = f"{' and '.join(names)} have equal values, as they are or transposed"
            why = "if they are one tied weight in the model, they would be trained as several"
            yield Trap(COPIED, "refused", f"{what}: {why}; {ASK}", tensors=tuple(names))


def find_lost(view: View) -> Iterator[Trap]:
    """Yield weights whose name an exporter invented: they lie transposed, as a rule."""
    for name in view.weights():
        if is_lost(name):
            restored = _named_by_bias(view, view.uses[name])
            yield _lost(name, restored) if restored else _nameless(name)
    for name in view.scales():
        if is_lost(name):
            what = f"{name} is added or multiplied, and its name in the model is lost: it may be a parameter, a literal"
            how = "or computed beforehand of parameters; the import says whether it is trained"
            yield Trap(LOST, "noted", f"{what}, {how}", (), (name,))


def find_declared(view: View, origin: Origin | None, split: Collection[str]) -> Iterator[Trap]:
    """Yield what the user declared and the graph does not have yet.

    Args:
        view: The graph.
        origin: What the user declared.
        split: Tensors that other traps split already, with better names.
    """
    for first, *others in origin.tied if origin else ():
        for other in others:
            if other in view.tensors and first in view.tensors:
                yield _declared(view, first, other)
    for name in [name for name in origin.independent if name not in split] if origin else ():
        for number, use in enumerate(view.direct.get(name, ())[1:], 1):
            what = f"{name} is several parameters, as declared: {name}.{number} is one of its own again"
            place = (use.node.output[0],)
            yield Trap(MERGED, "mended", what, place, (name, f"{name}.{number}"), position=use.position)


def _declared(view: View, first: str, other: str) -> Trap:
    one, copied = view.values(first), view.values(other)
    places, tensors = _places(view, other), (other, first)
    for transposed in (False, True):
        if np.array_equal(copied.T if transposed else copied, one):
            what = f"{other} is tied to {first}, as declared: it is one parameter again"
            return Trap(COPIED, "mended", what, places, tensors, transposed)
    what = f"{other} and {first} are declared to be one parameter, and have different values"
    return Trap(COPIED, "refused", f"{what}: they cannot be one", places, tensors)


def is_declared(origin: Origin | None, name: str) -> bool:
    """Return whether the user said of a tensor whether it is shared."""
    return origin is not None and (name in origin.independent or any(name in group for group in origin.tied))


def _alias(view: View, name: str, alias: str) -> Trap:
    if _is_fresh(view, name):
        what = (
            f"{alias} was merged into {name}, since all values of both were equal: it is a parameter of its own again"
        )
        return Trap(MERGED, "mended", what, (alias,), (name, alias))
    what = f"{alias} and {name} are one tensor in the graph: tied in the model, or merged since they began alike"
    return Trap(MERGED, "refused", f"{what}; {ASK}", (alias,), (name, alias))


def _is_fresh(view: View, name: str) -> bool:
    return view.tensors[name].data_type in FLOATING and view.is_constant(name)


def _says_something(view: View, name: str) -> bool:
    return len(view.tensors[name].dims) > 1 and len(np.unique(view.values(name).ravel()[:1024])) >= _FEW


def _key(view: View, name: str) -> str:
    """Return what is the same for a matrix and its transpose."""
    values = view.values(name)
    both = (values, values.T)
    return min(hashlib.sha256(f"{v.dtype}{v.shape}".encode() + v.tobytes()).hexdigest() for v in both)


def _places(view: View, name: str) -> tuple[str, ...]:
    return tuple(node.output[0] for node in view.nodes if name in node.input)


def _named_by_bias(view: View, uses: list[Use]) -> str:
    """Return the name that a weight has by the bias added to its product, as PyTorch names both; or nothing."""
    outputs = {use.node.output[0] for use in uses if use.node.op_type == "MatMul" and use.position == 1}
    for node in view.nodes if len(uses) == 1 else ():
        if node.op_type == "Add" and outputs & set(node.input):
            names = [
                name.removesuffix(".bias") for name in node.input if name in view.tensors and name.endswith(".bias")
            ]
            if names and f"{names[0]}.weight" not in view.tensors:
                return f"{names[0]}.weight"
    return ""


def _lost(name: str, restored: str) -> Trap:
    what = f"{restored} had lost its name and was called {name}, transposed: it has its name and shape again"
    return Trap(LOST, "mended", what, (), (name, restored), transposed=True)


def _nameless(name: str) -> Trap:
    what = f"{name} is a weight whose name in the model is lost, and it may lie transposed: it is trained as it lies"
    return Trap(LOST, "noted", what, (), (name,))
